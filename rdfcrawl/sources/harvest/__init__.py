"""Harvesters: turn the responses of one kind of source into documents and follow-ups.

Each response of a sitemap, a portal or an endpoint is one record (`Record.task`), so a
crash costs one response. A harvester turns a response into documents and further
records; state shared by responses is in the state store.
"""
