"""Harvesters: from the responses of a kind of source to documents and follow-ups.

Each response of a sitemap, a portal or an endpoint is a record of its own
(`Record.task`), so that a crash costs one response. A harvester turns a response into
documents and further records; state that responses share is in the state store.
"""
