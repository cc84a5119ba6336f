"""Sources that list documents: sitemaps, ResourceSync, CKAN, SPARQL endpoints, WARC.

Parsing is pure: a task becomes a request; a task with its response becomes statements,
further tasks and facts to remember. `harvest` drives this in a crawl.
"""
