"""Well-formed documents, one of each syntax, and what a small error does to them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.corpora.cases import Case, ServedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE: Final = "http://127.79.0.1:9"  # of each document
_TURTLE_TOKENS: Final = (
    r"\s+|<[^>]*>|\"[^\"]*\"|'[^']*'|@[A-Za-z-]+|\^\^|[\w:.-]*[\w:]|\S"
)
_XML_TOKENS: Final = r"\s+|</?[\w:]+|[\w:]+=|\"[^\"]*\"|'[^']*'|/?>|[^<>\s\"'=]+|\S"
_JSON_TOKENS: Final = r"\s+|\"[^\"]*\"|[\w.+-]+|\S"
_BAD_IRIS: Final = (
    *("http://b.example/x y", "http://b.example/{t}", "http://b example/", "::", ""),
    *(
        "http://[b/",
        "http://b.example/%zz",
        "http://b.example/\\",
        " http://b.example/",
    ),
)
_BAD_LANGUAGES: Final = "en_US", "verylonglanguage", "e-", "1", "x y"
_RDF: Final = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
_CONTEXT: Final = '"@context": {"@vocab": "http://e.example/", "t": {"@type": "@id"}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A well-formed document, in parts that do not depend on one another.

    Attributes:
        name: of its syntax.
        media_type: as it is served.
        head: its beginning.
        items: each has statements.
        tail: its end.
        tokens: pattern of a token.
        bad_terms: patterns of terms, and what is put in the place of their group.
        fixed: pattern of tokens without an error: other text is another document then.
    """

    name: str
    media_type: str
    head: str
    items: tuple[str, ...]
    tail: str = ""
    tokens: str
    bad_terms: tuple[tuple[str, tuple[str, ...]], ...]
    fixed: str = "(?!)"

    @property
    def text(self) -> str:
        """The document."""
        return "".join((self.head, *self.items, self.tail))

    def without(self, n: int) -> Case:
        """Return the document without an item."""
        items = (*self.items[:n], *self.items[n + 1 :])
        return self.case(f"without-{n}", "".join((self.head, *items, self.tail)))

    def case(self, name: str, text: str) -> Case:
        """Return another document of its syntax."""
        file = ServedFile(
            path="dir/doc", media_type=self.media_type, body=text.encode()
        )
        return Case(name=f"{self.name}/{name}", document=file)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A document with one error.

    Attributes:
        case: the document, and its name.
        item: number of the item with the error.
    """

    case: Case
    item: int


def mutants(document: Document) -> Iterator[Mutant]:
    """Yield the document with one error in an item, for each error and place."""
    seen = {document.text}
    for n, item in enumerate(document.items):
        before = document.head + "".join(document.items[:n])
        after = "".join(document.items[n + 1 :]) + document.tail
        for name, changed in (*_token_errors(document, item), *_terms(document, item)):
            text = before + changed + after
            if text not in seen:
                seen.add(text)
                yield Mutant(document.case(f"{name}-in-{n}", text), n)


def _token_errors(document: Document, item: str) -> Iterator[tuple[str, str]]:
    tokens = re.findall(document.tokens, item)
    assert "".join(tokens) == item, document.name
    is_fixed = re.compile(rf"\s+|{document.fixed}").fullmatch
    places = [at for at, token in enumerate(tokens) if not is_fixed(token)]
    for at in places:
        yield f"delete-{at}", "".join((*tokens[:at], *tokens[at + 1 :]))
        yield f"duplicate-{at}", "".join((*tokens[: at + 1], " ", *tokens[at:]))
    for at, to in itertools.pairwise(places):
        swapped = [*tokens]
        swapped[at], swapped[to] = tokens[to], tokens[at]
        yield f"swap-{at}", "".join(swapped)


def _terms(document: Document, item: str) -> Iterator[tuple[str, str]]:
    for kind, (pattern, terms) in enumerate(document.bad_terms):
        for found in re.finditer(pattern, item):
            for n, term in enumerate(terms):
                changed = item[: found.start(1)] + term + item[found.end(1) :]
                yield f"term-{kind}-{n}-at-{found.start(1)}", changed


_TURTLE_TERMS: Final = (
    (r"<([^>]*)>", (*_BAD_IRIS, "http://b.example/<", "http://b.example/\n")),
    (r"@(en)\b", (*_BAD_LANGUAGES, "")),
    (r"\b(e):", ("undeclared", "e.", "1")),
    (r"\"(\w+)\"", ("\\q", "\\uD800", "\\u12", "\n", "\x01", "\\")),
    (r"(?<=\W)([0-9.]+)(?= )", ("01", "1.2.3", "1e", "+", "0x1")),
)
_XML_TERMS: Final = (
    (r"(?:about|resource|ID)=\"([^\"]*)\"", (*_BAD_IRIS, "a b", "1", "&x;", "&")),
    (r"xml:lang=\"([^\"]*)\"", (*_BAD_LANGUAGES, "")),
    (r"datatype=\"([^\"]*)\"", _BAD_IRIS),
    (r"(?:<|</)(e):", ("undeclared", "1", "")),
    (r">(\w+)<", ("&", "<", "&nbsp;", "&#0;", "\x01", "]]>", "<!--")),
)
_JSON_TERMS: Final = (
    (r"\"(?:@id|t)\": (\"[^\"]*\")", tuple(f'"{each}"' for each in _BAD_IRIS[:-2])),
    (
        r"\"(?:@id|@type|@language|name|t)\": (\"[^\"]*\")",
        (
            *("5", "true", "{}", '["x", null]', "[5]", '""'),
            *('"_:"', '"a b"', "NaN", "01", "'x'", "x", '{"@value": {}}', "[[1]]"),
            *('{"@id": 5}', '{"@list": [null]}', '"\\q"', '"\t"', '"x', '"@x"'),
        ),
    ),
    (r"\"@language\": \"(\w+)\"", _BAD_LANGUAGES),
    (r"(,)", (",,", ";", "", ", // x\n", "/* x */,", "\u00a0,", "\u200b,", "\f,")),
)
_HTML_TERMS: Final = (
    (r"(?:resource|href|itemid|src)=\"([^\"]*)\"", (*_BAD_IRIS, "javascript:", "&#0;")),
    (r"\blang=\"([^\"]*)\"", (*_BAD_LANGUAGES, "")),
    (r"(?:property|typeof|itemprop|itemtype)=\"([^\"]*)\"", ("::", "a:b c")),
    (r">(\w+)<", ("&", "<", "&x;", "&#0;", "\x01", "<!--x-->", "</b>", "<br>")),
)
# Which attributes of which tags make statements is up to the author.
_HTML_FIXED: Final = r"</?\w+|>|[a-z]+=?|\"[^\"]*\""
_NT_ITEMS: Final = (
    '<http://e.example/a> <http://e.example/p> "x"@en .\n',
    "<http://e.example/b> <http://e.example/p> <http://e.example/o> .\n",
    '_:n <http://e.example/q> "1"^^<http://e.example/t> .\n',
    '<http://e.example/d> <http://e.example/p> "end" .\n',
)

DOCUMENTS: Final = (
    Document(
        name="turtle",
        media_type="text/turtle",
        head="@prefix e: <http://e.example/> .\n",
        items=(
            '<a> e:p "x"@en , 1 ; e:q <http://b.example/> .\n',
            'e:b a e:C ; e:r [ e:s true ; e:u "v" ] .\n',
            '<c> e:t ( "y" 2.5 ) .\n',
            '<d> e:p "z"^^e:d ; e:q "w" .\n',
            '<end> e:p "end" .\n',
        ),
        tokens=_TURTLE_TOKENS,
        bad_terms=_TURTLE_TERMS,
        fixed=r'"y"|2\.5',  # a list may be shorter
    ),
    Document(
        name="trig",
        media_type="application/trig",
        head="@prefix e: <http://e.example/> .\n",
        items=(
            '<a> e:p "x"@en , 1 .\n',
            '<g> { <a> e:p "y" ; e:q <http://b.example/> . <b> e:p 2 }\n',
            'GRAPH <h> { <c> e:p "z" . }\n',
            '<end> e:p "end" .\n',
        ),
        tokens=_TURTLE_TOKENS,
        bad_terms=_TURTLE_TERMS,
    ),
    Document(
        name="n3",
        media_type="text/n3",
        head="@prefix e: <http://e.example/> .\n",
        items=(
            '<a> e:p "x"@en , 1 ; e:q <http://b.example/> .\n',
            "e:b a e:C ; e:r [ e:s true ] .\n",
            '<end> e:p "end" .\n',
        ),
        tokens=_TURTLE_TOKENS,
        bad_terms=_TURTLE_TERMS,
    ),
    Document(
        name="n-triples",
        media_type="application/n-triples",
        head="# x\n",
        items=_NT_ITEMS,
        tokens=_TURTLE_TOKENS,
        bad_terms=_TURTLE_TERMS[:4],
    ),
    Document(
        name="n-quads",
        media_type="application/n-quads",
        head="# x\n",
        items=tuple(
            item.replace(" .\n", f" <http://127.79.0.1:9/{n}> .\n")
            for n, item in enumerate(_NT_ITEMS)
        ),
        tokens=_TURTLE_TOKENS,
        bad_terms=_TURTLE_TERMS[:4],
    ),
    Document(
        name="rdfxml",
        media_type="application/rdf+xml",
        head=f'<rdf:RDF {_RDF} xmlns:e="http://e.example/">\n',
        items=(
            (
                '<rdf:Description rdf:about="a"><e:p xml:lang="en">x</e:p>'
                '<e:q rdf:resource="http://b.example/"/></rdf:Description>\n'
            ),
            '<e:C rdf:ID="b"><e:r><e:D><e:s>y</e:s></e:D></e:r></e:C>\n',
            (
                '<rdf:Description rdf:about="c" e:p="z"><e:t rdf:parseType="Resource">'
                '<e:u rdf:datatype="http://e.example/d">w</e:u></e:t></rdf:Description>\n'
            ),
            '<rdf:Description rdf:about="d"><e:p>end</e:p></rdf:Description>\n',
        ),
        tail="</rdf:RDF>\n",
        tokens=_XML_TOKENS,
        bad_terms=_XML_TERMS,
    ),
    Document(
        name="trix",
        media_type="application/trix",
        head='<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph>\n',
        items=(
            (
                "<triple><uri>http://e.example/a</uri><uri>http://e.example/p</uri>"
                '<plainLiteral xml:lang="en">x</plainLiteral></triple>\n'
            ),
            (
                "<triple><id>n</id><uri>http://e.example/p</uri><typedLiteral"
                ' datatype="http://e.example/d">y</typedLiteral></triple>\n'
            ),
            (
                "<triple><uri>http://e.example/d</uri><uri>http://e.example/p</uri>"
                "<plainLiteral>end</plainLiteral></triple>\n"
            ),
        ),
        tail="</graph></TriX>\n",
        tokens=_XML_TOKENS,
        bad_terms=(*_XML_TERMS[1:3], (r"<uri>([^<]*)</uri>", _BAD_IRIS), _XML_TERMS[4]),
    ),
    Document(
        name="json-ld",
        media_type="application/ld+json",
        head=f'{{{_CONTEXT}, "@graph": [\n',
        items=(
            '{"@id": "a", "name": "x", "t": "http://b.example/"},\n',
            '{"@id": "b", "@type": "C", "r": {"@type": "D", "name": "y"}},\n',
            '{"@id": "c", "name": {"@value": "z", "@language": "en"}, "n": [1, 2]},\n',
            '{"@id": "d", "name": "w"},\n',
        ),
        tail='{"@id": "end", "name": "end"}]}\n',
        tokens=_JSON_TOKENS,
        bad_terms=_JSON_TERMS,
    ),
    Document(
        name="json-ld-page",
        media_type="text/html",
        head='<!DOCTYPE html><html><head><script type="application/ld+json">\n'
        f'{{{_CONTEXT}, "@graph": [\n',
        items=(
            '{"@id": "a", "name": "x", "t": "http://b.example/"},\n',
            '{"@id": "b", "@type": "C", "r": {"@type": "D", "name": "y"}},\n',
        ),
        tail='{"@id": "end", "name": "end"}]}</script></head></html>\n',
        tokens=_JSON_TOKENS,
        bad_terms=_JSON_TERMS,
    ),
    Document(
        name="rdf-json",
        media_type="application/rdf+json",
        head="{\n",
        items=(
            (
                '"http://e.example/a": {"http://e.example/p":'
                ' [{"type": "literal", "value": "x", "lang": "en"}]},\n'
            ),
            (
                '"http://e.example/b": {"http://e.example/p":'
                ' [{"type": "uri", "value": "http://b.example/"}]},\n'
            ),
        ),
        tail='"http://e.example/d": {"http://e.example/p":'
        ' [{"type": "literal", "value": "end"}]}}\n',
        tokens=_JSON_TOKENS,
        bad_terms=(
            (r"(\"http://b\.example/\")", tuple(f'"{x}"' for x in _BAD_IRIS[:-2])),
            (r"\"lang\": \"(\w+)\"", _BAD_LANGUAGES),
            (r": (\"(?:x|literal|uri)\")", ("null", "5", "[]", "{}", '"x', "NaN")),
        ),
    ),
    Document(
        name="hextuples",
        media_type="application/hex+x-ndjson",
        head="",
        items=(
            (
                '["http://e.example/a", "http://e.example/p", "x",'
                ' "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en", ""]\n'
            ),
            (
                '["http://e.example/b", "http://e.example/p", "http://b.example/",'
                ' "globalId", "", ""]\n'
            ),
            (
                '["_:n", "http://e.example/p", "end",'
                ' "http://www.w3.org/2001/XMLSchema#string", "", ""]\n'
            ),
        ),
        tokens=_JSON_TOKENS,
        bad_terms=(
            (r"\"(http://[^\"]*)\"", _BAD_IRIS[:-2]),
            (r"\"(en)\"", _BAD_LANGUAGES),
            (r"(\"(?:x|end)\")", ("null", "5", "[]", '"x', "NaN")),
        ),
    ),
    Document(
        name="rdfa",
        media_type="text/html",
        head='<!DOCTYPE html><html><body vocab="http://e.example/">\n',
        items=(
            (
                '<div resource="a" typeof="C"><b property="p" lang="en">x</b>'
                '<a property="q" href="http://b.example/">y</a></div>\n'
            ),
            (
                '<div resource="c"><i property="r" typeof="D"><b property="s">z</b></i>'
                "</div>\n"
            ),
            '<div resource="d"><b property="p" content="w">v</b></div>\n',
            '<div resource="end"><b property="p">end</b></div>\n',
        ),
        tail="</body></html>\n",
        tokens=_XML_TOKENS,
        bad_terms=_HTML_TERMS,
        fixed=_HTML_FIXED,
    ),
    Document(
        name="microdata",
        media_type="text/html",
        head="<!DOCTYPE html><html><body>\n",
        items=(
            (
                '<div itemscope itemid="a" itemtype="http://e.example/C">'
                '<b itemprop="p" lang="en">x</b>'
                '<a itemprop="q" href="http://b.example/">y</a></div>\n'
            ),
            (
                '<div itemscope itemid="c" itemtype="http://e.example/C"><i'
                ' itemprop="r" itemscope itemtype="http://e.example/D">'
                '<b itemprop="s">z</b></i></div>\n'
            ),
            (
                '<div itemscope itemid="end" itemtype="http://e.example/C">'
                '<b itemprop="p">end</b></div>\n'
            ),
        ),
        tail="</body></html>\n",
        tokens=_XML_TOKENS,
        bad_terms=_HTML_TERMS,
        fixed=_HTML_FIXED,
    ),
)
