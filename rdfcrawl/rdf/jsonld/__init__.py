"""JSON-LD 1.1: fast through pyoxigraph, complete through PyLD, with our own contexts.

No library loads contexts: all come with the package, or from a `ContextSource`.
"""
