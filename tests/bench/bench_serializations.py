"""Cost of serializations next to the bare parser, and of second chances.

Run: `python -m tests.bench.bench_serializations [N_TRIPLES]`.
"""

from __future__ import annotations

import io
import json
import sys
import time
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.core import formats
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.parse import parse
from tests.bench.figures import Figure, judge

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://n1.example/dump"
BOUNDED = ReaderContext(is_bounded=True)
P, V = "http://orca.example/p", "http://orca.example/label"


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return ratios to the bare parser."""
    given = sys.argv[1:] if arguments is None else arguments
    n = int(given[0]) if given else 200_000
    n_triples = n_quads(n)
    bare = _rate(lambda: _bare(n_triples, RdfFormat.N_QUADS))
    print(f"bare parser, N-Quads: {bare:.0f} kT/s")
    figures = []
    for name, media_type, text in (
        ("N-Quads", "application/n-quads", n_triples),
        ("TriX", "application/trix", trix(n)),
        ("RDF/JSON", "application/rdf+json", rdf_json(n)),
        ("HexTuples", "application/hex+x-ndjson", hextuples(n)),
    ):
        figures.append(_report(name, media_type, text, bare))
    for form in (formats.TURTLE, formats.TRIG, formats.N3, formats.RDF_XML):
        assert form.parser is not None
        out = io.BytesIO()
        quads = pyoxigraph.parse(n_triples, RdfFormat.N_QUADS)
        pyoxigraph.serialize((quad.triple for quad in quads), out, form.parser)
        text = out.getvalue()
        bare = _rate(lambda text=text, form=form: _bare(text, form.parser))  # type: ignore[misc]
        print(f"bare parser, {form.name}: {bare:.0f} kT/s")
        media_type = form.media_types[0]
        figures.append(_report(form.name, media_type, text, bare))
        name = f"{form.name}, a bad IRI"
        figures.append(_report(name, media_type, _spoil(text), bare))
    return figures


def n_quads(n: int) -> bytes:
    """Return statements."""
    return b"".join(
        b'<%sr/%d> <%s> "text %d" .\n' % (URL.encode(), i // 2, V.encode(), i)
        if i % 2
        else b"<%sr/%d> <%s> <%sr/%d> .\n"
        % (URL.encode(), i // 2, P.encode(), URL.encode(), i + 7)
        for i in range(n)
    )


def trix(n: int) -> bytes:
    """Return as many in TriX."""
    one = (
        f"<triple><uri>{URL}r/%d</uri><uri>{V}</uri>"
        "<plainLiteral>text %d</plainLiteral></triple>"
    )
    body = "".join(one % (i // 2, i) for i in range(n))
    return f"<TriX><graph>{body}</graph></TriX>".encode()


def rdf_json(n: int) -> bytes:
    """Return as many in RDF/JSON."""
    return json.dumps(
        {
            f"{URL}r/{i}": {
                P: [{"type": "uri", "value": f"{URL}r/{i + 7}"}],
                V: [{"type": "literal", "value": f"text {i}"}],
            }
            for i in range(n // 2)
        }
    ).encode()


def hextuples(n: int) -> bytes:
    """Return as many in HexTuples."""
    lines = (
        json.dumps([f"{URL}r/{i // 2}", V, f"text {i}", "", "", ""]) for i in range(n)
    )
    return "\n".join(lines).encode()


def _spoil(text: bytes) -> bytes:
    """Put a character into an IRI in the middle that IRIs do not have."""
    middle = text.index(b"/dumpr/", len(text) // 2)
    return text[:middle] + b"{" + text[middle:]


def _bare(text: bytes, form: RdfFormat) -> int:
    out = io.BytesIO()
    pyoxigraph.serialize(pyoxigraph.parse(text, form), out, RdfFormat.N_QUADS)
    return out.getvalue().count(b"\n")


def _report(name: str, media_type: str, text: bytes, bare: float) -> Figure:
    def read() -> int:
        parsed = parse(
            text, url=URL, graph=URL, media_type=media_type, environment=BOUNDED
        )
        for _ in parsed:
            pass
        return parsed.n_quads

    rate = _rate(read)
    print(f"  {name}: {rate:.0f} kT/s, {rate / bare:.2f} of the bare parser")
    return Figure(name, rate / bare, "x bare parser")


def _rate(read: Callable[[], int]) -> float:
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        n = read()
        best = max(best, n / (time.process_time() - start) / 1000)
    return best


if __name__ == "__main__":
    sys.exit(judge(main()))
