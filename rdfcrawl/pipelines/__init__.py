"""Item pipelines: the four steps of a document.

Extract sets `Document.chunks`, an asynchronous iterator over N-Quads; Store writes the
chunks and passes them on; Discover reads all of them and collects the links; Account
writes the provenance of the document. A pipeline of your own that reads the quads
stands between Extract (300) and Discover (700), passes the chunks on, and closes them,
as Store does.
"""
