"""Harvesters: from the responses of a kind of source to documents and follow-ups.

A sitemap, a portal or an endpoint is read response by response; each is a record of its
own (`Record.task`), so that a crash costs one response. A harvester turns a response
into the documents in it and the records that come next; what the responses of a source
must know of each other is in the state store.
"""
