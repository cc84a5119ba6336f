"""JSON-LD 1.1: fast through pyoxigraph, complete through PyLD, with own contexts.

No library loads contexts: they come with the package, or from a `ContextSource`.
"""
