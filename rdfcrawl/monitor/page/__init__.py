"""The live page of a crawl: progress, content, and explanations.

A process that reads Redis, logs and their index, and changes nothing without
`--control`. Each view is a function from the crawl to a value, which is shown as HTML
or as JSON.
"""
