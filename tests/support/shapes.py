"""Judge graphs by shapes of SHACL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdflib import Graph

DCAT_AP = Path(__file__).parents[1] / "data" / "dcat_ap_3.ttl"
VOID = Path(__file__).parents[1] / "data" / "void.ttl"


def violations(data: Graph, *shapes: Path) -> list[str]:
    """Return the violations of the shapes: shape, path, node and value."""
    from pyshacl import validate
    from rdflib import Graph

    wanted = Graph()
    for path in shapes:
        wanted.parse(path)
    _, report, _ = validate(data, shacl_graph=wanted, advanced=True)
    found = report.query(
        """PREFIX sh: <http://www.w3.org/ns/shacl#>
        SELECT ?node ?path ?value ?why {
          ?x sh:focusNode ?node ; sh:sourceConstraintComponent ?why
          OPTIONAL { ?x sh:resultPath ?path } OPTIONAL { ?x sh:value ?value } }"""
    )
    return sorted(map(str, found))
