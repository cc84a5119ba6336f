"""Mixed dumps: labels in several languages, links, blank nodes, numbers, long texts.

A resource has 16 statements: as in dumps of libraries and encyclopedias, a few words in
some languages, an abstract of up to 1,500 characters with line ends and quotation
marks, links to others, and an address without a name.
"""

from __future__ import annotations

import random
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESOURCE: Final = "http://data.example.org/resource/"
VOCABULARY: Final = "http://data.example.org/ontology#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
N_STATEMENTS: Final = 16
"""Statements of a resource."""
_WORDS: Final = {
    "en": "the river of a town that was built in early stone and is known for its old",
    "de": "die größte Stadt über dem Fluß wurde früher für schöne Häuser und Gärten",
    "fr": "la ville a été fondée près du fleuve où siège une ancienne préfecture",
    "ko": "도시 는 강 근처 에 있고 오래된 성 으로 알려진 마을 이며 역사 가 길다",
    "ja": "都市 は 川 の 近く に あり 古い 城 で 知られる 町 として",
}
_ESCAPES: Final = str.maketrans({'"': '\\"', "\n": "\\n", "\\": "\\\\"})
_N_TEXTS: Final = 200  # distinct texts, drawn with fixed seeds


def write_dump(path: Path, n_bytes: int, *, graphs: str = "") -> int:
    """Write a dump of at least so many bytes; return the number of statements.

    Args:
        path: its suffix is one of `SYNTAXES`.
        n_bytes: length.
        graphs: beginning of the graph names of N-Quads, one for each resource.
    """
    head, describe, tail = SYNTAXES[path.suffix]
    rng = random.Random(7)
    texts = [_text(rng) for _ in range(_N_TEXTS)]
    number = n_written = 0
    with path.open("w", buffering=1 << 20, encoding="utf-8") as file:
        file.write(head)
        while n_written < n_bytes:
            graph = f" <{graphs}{number}>" if graphs else ""
            part = describe(_Resource(rng, texts, number), graph)
            # Characters outside ASCII have two or three bytes.
            n_written += len(part.encode())
            file.write(part)
            number += 1
        file.write(tail)
    return N_STATEMENTS * number


def _words(rng: random.Random, language: str, n: int) -> str:
    return " ".join(rng.choices(_WORDS[language].split(), k=n))


def _text(rng: random.Random) -> tuple[str, str]:
    """Return a long text and its language."""
    language = rng.choice(list(_WORDS))
    parts = [_words(rng, language, rng.randint(8, 30)) for _ in range(6)]
    return f'{parts[0]} "{parts[1]}".\n' + ", ".join(parts[2:]) + ".", language


class _Resource:
    """The values of one resource."""

    def __init__(
        self, rng: random.Random, texts: list[tuple[str, str]], number: int
    ) -> None:
        self.name = f"Item_{number}"
        self.number = number
        self.labels = [
            (f"{_words(rng, language, 3)} {number}", language)
            for language in rng.sample(list(_WORDS), 3)
        ]
        self.text, self.language = rng.choice(texts)
        self.others = [f"Item_{rng.randrange(10**6)}" for _ in range(3)]
        self.same = f"http://www.wikidata.example/entity/Q{rng.randrange(10**8)}"
        self.place = f"{rng.uniform(-90, 90):.4f}"
        self.year = rng.randint(1000, 2026)
        self.street = f"{_words(rng, 'de', 2)} {number % 200}"


def _lines(each: _Resource, graph: str) -> str:
    subject, node = f"<{RESOURCE}{each.name}>", f"_:address{each.number}"
    end, own = f"{graph} .\n", f"{subject} <{VOCABULARY}"
    address = f"{node} <{VOCABULARY}"
    text = each.text.translate(_ESCAPES)
    return "".join(
        (
            f"{subject} <{RDF}type> <{VOCABULARY}Place>{end}",
            *(
                f'{subject} <{RDFS}label> "{label}"@{language}{end}'
                for label, language in each.labels
            ),
            f'{own}abstract> "{text}"@{each.language}{end}',
            *(f"{own}near> <{RESOURCE}{other}>{end}" for other in each.others),
            f"{subject} <http://www.w3.org/2002/07/owl#sameAs> <{each.same}>{end}",
            f'{own}latitude> "{each.place}"^^<{XSD}decimal>{end}',
            f'{own}founded> "{each.year}-01-01"^^<{XSD}date>{end}',
            f'{own}population> "{each.number * 7}"^^<{XSD}integer>{end}',
            f"{own}address> {node}{end}",
            f"{address}kind> <{VOCABULARY}Address>{end}",
            f'{address}street> "{each.street}"{end}',
            f"{address}country> <{RESOURCE}Country_{each.number % 200}>{end}",
        )
    )


def _turtle(each: _Resource, graph: str) -> str:
    del graph
    labels = " , ".join(f'"{label}"@{language}' for label, language in each.labels)
    near = " , ".join(f"r:{other}" for other in each.others)
    text = each.text.translate(_ESCAPES)
    return (
        f"r:{each.name} a o:Place ;\n  rdfs:label {labels} ;\n"
        f'  o:abstract "{text}"@{each.language} ;\n  o:near {near} ;\n'
        f"  owl:sameAs <{each.same}> ;\n  o:latitude {each.place} ;\n"
        f'  o:founded "{each.year}-01-01"^^xsd:date ;\n'
        f"  o:population {each.number * 7} ;\n  o:address [ o:kind o:Address ;\n"
        f'    o:street "{each.street}" ; o:country r:Country_{each.number % 200} ] .\n'
    )


def _rdf_xml(each: _Resource, graph: str) -> str:
    del graph
    labels = "".join(
        f'<rdfs:label xml:lang="{language}">{label}</rdfs:label>\n'
        for label, language in each.labels
    )
    near = "".join(f'<o:near rdf:resource="{RESOURCE}{x}"/>\n' for x in each.others)
    return (
        f'<o:Place rdf:about="{RESOURCE}{each.name}">\n{labels}'
        f'<o:abstract xml:lang="{each.language}">{escape(each.text, quote=False)}'
        f'</o:abstract>\n{near}<owl:sameAs rdf:resource="{each.same}"/>\n'
        f'<o:latitude rdf:datatype="{XSD}decimal">{each.place}</o:latitude>\n'
        f'<o:founded rdf:datatype="{XSD}date">{each.year}-01-01</o:founded>\n'
        f'<o:population rdf:datatype="{XSD}integer">{each.number * 7}</o:population>\n'
        f'<o:address><rdf:Description><o:kind rdf:resource="{VOCABULARY}Address"/>'
        f"<o:street>{each.street}</o:street>\n"
        f'<o:country rdf:resource="{RESOURCE}Country_{each.number % 200}"/>'
        "</rdf:Description></o:address></o:Place>\n"
    )


_PREFIXES: Final = {
    "r": RESOURCE,
    "o": VOCABULARY,
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
}
# Begin of a file, description of a resource, and end of a file.
SYNTAXES: Final[dict[str, tuple[str, Callable[[_Resource, str], str], str]]] = {
    ".nt": ("", _lines, ""),
    ".nq": ("", _lines, ""),
    ".ttl": (
        "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in _PREFIXES.items()),
        _turtle,
        "",
    ),
    ".rdf": (
        "<rdf:RDF"
        + "".join(f' xmlns:{name}="{iri}"' for name, iri in _PREFIXES.items())
        + ">\n",
        _rdf_xml,
        "</rdf:RDF>\n",
    ),
}
