"""JSON-LD 1.1: fast through pyoxigraph, whole through PyLD, contexts from our own.

No library ever loads a context by itself: they come with the package, or from a
`ContextSource` that whoever runs the reader provides.
"""

from rdfcrawl.rdf.jsonld.options import Options
from rdfcrawl.rdf.jsonld.reading import read_json_ld, read_json_ld_value

__all__ = ["Options", "read_json_ld", "read_json_ld_value"]
