"""Statements that writers and readers of RDF get wrong, by the kind of difficulty.

The predicate of a statement is `P` with its kind, unless the predicate is difficult.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.namespaces import RDF, XSD

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENT: Final = "http://e.example/doc"
OTHER: Final = "http://e.example/other"
P: Final = "http://e.example/p/"
_ODD: Final = "http://e.example/"
_I18N: Final = "https://www.w3.org/ns/i18n#"
_TEXTS: Final = (
    "", " ", "\n", "\r", "\t", "a\r\nb", " x ", '"', 'a"""', "\\", "\\n", "\\u0041",
    "'''", "<b>&amp;</b>", "]]>", "&#xD;", "é日本", "\U0001f600", "\U0010ffff",
    "\u2028\u2029", "\ufeff", "\x7f", "\x80\x85", "_:b", "<<( a )>>", " <<( _:b0a )>> ",
    " .\n<s>",
    "{}", "@en", "\u202eabc", "long " * 60_000,
)  # fmt: skip
_CONTROLS: Final = ("\x01", "".join(map(chr, range(1, 32))), "\ufffe", "\uffff")
_TYPED: Final = {
    f"{XSD}integer": ("1", "", "bad", " 1 ", "9" * 30),
    f"{XSD}decimal": ("1.0", "1."),
    f"{XSD}double": ("1.0E0", "INF", "1E400"),
    f"{XSD}float": ("NaN",),
    f"{XSD}boolean": ("true", "1", "TRUE"),
    f"{XSD}date": ("2020-02-30",),
    f"{RDF}JSON": ('{"a": 1,\n"b":[]}', "no JSON"),
    f"{RDF}XMLLiteral": ('<a xmlns="http://n/">&amp;</a>', "<a"),
    f"{RDF}HTML": ("<b>x</b>",),
    "http://e.example/type?a=b&c='d'": ("x",),
}
_IRIS: Final = (
    f"{_ODD}a'b", f"{_ODD}(a),b;c", f"{_ODD}~!*$&+=@:", f"{_ODD}%20", f"{_ODD}é日本",
    f"{_ODD}%C3%A9", f"{_ODD}#", f"{_ODD}a.", f"{_ODD}-a", f"{_ODD}.a", f"{_ODD}1a",
    f"{_ODD}/a", f"{_ODD}a#b:c", f"{_ODD}\u0300x", f"{_ODD}?q=1&b=2#f?", f"{_ODD}a?",
    "http://e.example", "HTTP://E.example/x", "http://e.example:80/", "http://[::1]/x",
    "urn:nbn:de:1", "tag:e.example,2020:a", "mailto:a@e.example", "doi:10.1/x",
    "file:///etc/x", "data:,x", "http://schema.org/a/b", f"{RDF}nil", RDF,
    f"{_ODD}{'long/' * 2000}",
)  # fmt: skip
_ELEMENTS: Final = (
    f"{RDF}_1", f"{RDF}Seq", f"{RDF}value", f"{RDF}other", f"{_ODD}a?x=1&y=a",
    f"{_ODD}a'b", f"{_ODD}é", f"{_ODD}日本", f"{_ODD}a.b-c", f"{_ODD}a:b",
    f"{_ODD}\u00b7x", f"{_ODD}xmlFoo", "mailto:a@b.c", f"{_ODD}p\u0300",
)  # fmt: skip
NO_ELEMENTS: Final = (
    f"{_ODD}123", _ODD, f"{_ODD}a#", "urn:nbn:de:1", f"{_ODD}a?x=1&y=2", f"{RDF}li",
    f"{RDF}Description", f"{RDF}about", f"{RDF}aboutEach", f"{RDF}bagID",
    "http://www.w3.org/2000/xmlns/x", f"{_ODD}\U0001f600",
)  # fmt: skip
"""Predicates that RDF/XML has no element for."""


def plain_lines() -> Iterator[str]:
    """Yield statements of RDF 1.1 as N-Quads."""
    for text in _TEXTS:
        yield _line("text", str(ox.Literal(text)))
    for text in _CONTROLS:
        yield _line("control", str(ox.Literal(text)))
    yield _line("nul", r'"\u0000"')
    for language in ("en", "en-us", "de-de-1901", "x-a", "zh-hant-tw"):
        yield _line("language", f'"x"@{language}')
    yield _line("tag", '"x"@i-klingon')
    for datatype, values in _TYPED.items():
        for value in values:
            yield _line("typed", f"{ox.Literal(value)}^^<{datatype}>")
    for value in ("01", "+1", "-0"):
        yield _line("number", f'"{value}"^^<{XSD}integer>')
    yield from _named()
    yield from _nodes()


def _named() -> Iterator[str]:
    """Yield unusual IRIs at each place."""
    for iri in _IRIS:
        yield _line("iri", f"<{iri}>")
        yield _line("iri", '"s"', iri)
    for iri in (f"{_ODD}a/../b", f"{_ODD}a/./b"):
        yield _line("dots", f"<{iri}>")
    for predicate in (*_ELEMENTS, *NO_ELEMENTS):
        for value in ('"p"', f"<{_ODD}o>", "_:b0o"):
            yield f"<{_ODD}s> <{predicate}> {value} <{DOCUMENT}> .\n"


def _line(kind: str, value: str, subject: str = "", graph: str = DOCUMENT) -> str:
    named = subject if subject.startswith("_:") else f"<{subject or _ODD + 's'}>"
    return f"{named} <{P}{kind}> {value} <{graph}> .\n"


def _nodes() -> Iterator[str]:
    """Yield blank nodes in cycles, lists and several graphs."""
    for one, other in (("_:b0a", "_:b0b"), ("_:b0b", "_:b0a"), ("_:b0c", "_:b0c")):
        yield _line("node", other, one)
    for graph in (DOCUMENT, OTHER):
        yield _line("node", '"shared"', "_:b0a", graph)
        yield _line("node", "_:b0d", graph=graph)
    lists = {
        "_:b0e": ('"1"', "_:b0f"), "_:b0f": ("_:b0g", "nil"), "_:b0g": ("_:b0h", "nil"),
        "_:b0h": ('"of itself"', "_:b0h"), "_:b0i": ('"of two"', "nil"),
        "_:b0j": ('"has more"', "nil"), f"{_ODD}list": ('"named"', "nil"),
    }  # fmt: skip
    for node, (first, rest) in lists.items():
        subject = node if node.startswith("_:") else f"<{node}>"
        end = f"<{RDF}nil>" if rest == "nil" else rest
        yield f"{subject} <{RDF}first> {first} <{DOCUMENT}> .\n"
        yield f"{subject} <{RDF}rest> {end} <{DOCUMENT}> .\n"
        yield _line("node", subject)
    yield _line("node", "_:b0i", f"{_ODD}t")
    yield _line("node", '"more"', "_:b0j")
    yield f'_:b0j <{RDF}type> "text" <{DOCUMENT}> .\n'
    yield f"_:b0j <{RDF}type> <{RDF}List> <{DOCUMENT}> .\n"


def directed_lines(*, is_rdf_11: bool = False) -> Iterator[str]:
    """Yield texts with a base direction."""
    for text, language, direction in (
        ("مرحبا", "ar", "rtl"),
        ('a"@en--ltr \\n', "en-us", "ltr"),
    ):
        value = str(ox.Literal(text))
        end = f"^^<{_I18N}{language}_{direction}>"
        end = end if is_rdf_11 else f"@{language}--{direction}"
        yield _line("direction", value + end)


def reifying_lines(*, is_rdf_11: bool = False) -> Iterator[str]:
    """Yield statements with triple terms, or with nodes in their place."""
    text = '"_:b0a )>> . \\" <<( "@en'
    texts = [f'"x"^^<{_I18N}ar_rtl>' if is_rdf_11 else '"x"@ar--rtl', text]
    terms: list[tuple[str, ...]] = [("_:b0a", f"<{_ODD}b>", "_:b0a")]
    terms += [(f"<{_ODD}a>", f"<{_ODD}b>", each) for each in texts]
    for n, term in enumerate(terms):
        yield from _reified(f"_:b0r{n}", term, is_rdf_11=is_rdf_11)
    # A second triple of a reifier, and a triple term in another.
    if is_rdf_11:
        yield f"_:b0r0 <{RDF}reifies> _:b0n <{DOCUMENT}> .\n"
        yield from _reified("_:b0n", terms[2], is_rdf_11=True)
        yield from _reified(
            "_:b0r4", (f"<{_ODD}a>", f"<{_ODD}b>", "_:b0n"), is_rdf_11=True
        )
        return
    inner = f"<<( {' '.join(terms[2])} )>>"
    yield f"_:b0r0 <{RDF}reifies> {inner} <{DOCUMENT}> .\n"
    yield from _reified("_:b0r4", (f"<{_ODD}a>", f"<{_ODD}b>", inner), is_rdf_11=False)


def _reified(node: str, term: tuple[str, ...], *, is_rdf_11: bool) -> Iterator[str]:
    if not is_rdf_11:
        yield f"{node} <{RDF}reifies> <<( {' '.join(term)} )>> <{DOCUMENT}> .\n"
        return
    yield f"{node} <{RDF}type> <{RDF}Statement> <{DOCUMENT}> .\n"
    for name, part in zip(("subject", "predicate", "object"), term, strict=True):
        yield f"{node} <{RDF}{name}> {part} <{DOCUMENT}> .\n"
