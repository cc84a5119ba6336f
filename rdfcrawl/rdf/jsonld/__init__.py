"""JSON-LD 1.1: fast through pyoxigraph, complete through PyLD, with our own contexts.

No library ever loads a context: all come with the package, or from the `ContextSource`
of whoever runs the reader.
"""
