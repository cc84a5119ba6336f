"""JSON-LD 1.1: fast through pyoxigraph, whole through PyLD, contexts from our own.

No library ever loads a context by itself: they come with the package, or from a
`ContextSource` that whoever runs the reader provides.
"""
