"""Item pipelines: the way of one document, in four steps.

Extract sets `Document.chunks`, an asynchronous iterator over N-Quads; Store passes it
on while it writes; Discover reads it to its end and collects the links; Account writes
down what became of the document. A pipeline of your own that looks at the quads stands
between Extract (300) and Discover (700), and passes them on, and closes them,
as Store does.
"""
