"""Each syntax under the media type of each other one."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import FORMATS, HDT
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.parse import parse

E = "@prefix e: <urn:e:> .\n"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">'
    '<rdf:Description rdf:about="urn:e:s"><e:p>ok</e:p></rdf:Description></rdf:RDF>'
)
TRIX = (
    '<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph><triple>'
    "<uri>urn:e:s</uri><uri>urn:e:p</uri><plainLiteral>ok</plainLiteral>"
    "</triple></graph></TriX>"
)
DOCUMENTS = {
    "N-Triples": '<urn:e:s> <urn:e:p> "ok" .\n',
    "blank node": '_:s <urn:e:p> "ok" .\n',
    "N-Quads": '<urn:e:s> <urn:e:p> "ok" <urn:e:g> .\n',
    "late quad": '<urn:e:s> <urn:e:p> "1" .\n<urn:e:s> <urn:e:p> "ok" <urn:e:g> .\n',
    "Turtle": E + 'e:s e:q e:o ; e:p "ok" .\n',
    "SPARQL prefix": 'PREFIX e: <urn:e:>\ne:s e:p "ok" .\n',
    "comments": "# c\n" * 20 + E + 'e:s e:p "ok" .\n',
    "base": '@base <http://b.example/> .\n<s> <urn:e:p> "ok" .\n',
    "relative": '<#s> <urn:e:p> "ok" ; <urn:e:q> 5 .\n',
    "absolute": '<urn:e:s> <urn:e:p> "ok" ;\n  <urn:e:q> 5 .\n',
    "brackets": '[ <urn:e:p> "ok" ] .\n',
    "list": '(1 2) <urn:e:p> "ok" .\n',
    "TriG": E + 'e:g { e:s e:p "ok" . }\n',
    "GRAPH": 'PREFIX e: <urn:e:>\nGRAPH e:g { e:s e:p "ok" . }\n',
    "default graph": E + '{ e:s e:p "ok" . }\n',
    "graph without prefix": '<urn:e:g> { <urn:e:s> <urn:e:p> "ok" . }\n',
    "N3": E + 'e:s e:p "ok" . { e:a e:b e:c } => { e:d e:e e:f } .\n',
    "RDF/XML": f'<?xml version="1.0"?>\n{RDF}',
    "RDF/XML without declaration": RDF,
    "JSON-LD": '{"@context":{"e":"urn:e:"},"@id":"e:s","e:p":"ok"}',
    "JSON-LD array": '[{"@id":"urn:e:s","urn:e:p":[{"@value":"ok"}]}]',
    "RDF/JSON": '{"urn:e:s":{"urn:e:p":[{"value":"ok","type":"literal"}]}}',
    "TriX": TRIX,
    "HexTuples": (
        '["urn:e:s","urn:e:p","ok","http://www.w3.org/2001/XMLSchema#string","",""]\n'
    ),
}
LABELS = (
    *(each.media_types[0] for each in FORMATS if each.media_types and each is not HDT),
    *("text/plain", "application/octet-stream", "application/json", "text/xml"),
    *("application/xml", "application/xhtml+xml", "application/x-unknown", "text/csv"),
    *("", "application/activity+json"),
)


@pytest.mark.parametrize("label", LABELS)
def test_content_decides_against_its_label(label: str) -> None:
    """If a document has the media type of another syntax, then it is read as it is."""
    for name, body in DOCUMENTS.items():
        parsed = parse(
            body.encode(),
            url="http://e.example/doc",
            graph=None,
            media_type=label,
            trust="all",
            environment=ReaderContext(is_bounded=True),
        )
        text = b"".join(parsed).decode()
        assert '"ok"' in text, name
        assert "<urn:e:a>" not in text, name
        noted = {fault.reason for fault in parsed.faults}
        assert noted <= {Reason.REPAIRED, Reason.N3_FORMULA}, (name, parsed.faults)
