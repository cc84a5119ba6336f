"""The tokenizer for the XML of the web, and the elements that are made of it."""

from __future__ import annotations

import io
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.sources.sitemaps.elements import MAX_PARTS, Element, iter_elements
from rdfcrawl.sources.sitemaps.markup import (
    ClosingTag,
    ElementStructure,
    MarkupLimits,
    MarkupTokenizer,
    OpeningTag,
    iter_events,
)
from tests.support.examples import examples

if TYPE_CHECKING:
    from rdfcrawl.sources.sitemaps.markup import Event

SAMPLE = """<?xml version="1.0"?>
<!DOCTYPE a [<!ENTITY own "its &lt; own">]>
<?style x > y?><!-- <a> -- >--><a xmlns="urn:d" xmlns:p='urn:p' q="1>2 &amp; 3">
<loc>http://e/?a=1&amp;b=2&c=3</loc><p:x y='"'/> t<![CDATA[<b>&amp;]] >]]>&own;&none;
<loc >é&#233;&#xe9;&eacute;</loc\n></a>"""


def read(
    document: bytes | str, limits: MarkupLimits | None = None
) -> tuple[list[Event], dict[Reason, int]]:
    """Return the events, and how often each fault was counted."""
    body = document.encode() if isinstance(document, str) else document
    log = FaultLog()
    limits = limits or MarkupLimits()
    events = list(iter_events(ByteSource(body), log=log, limits=limits))
    return events, {fault.reason: fault.count for fault in log.all()}


def texts(document: bytes | str) -> list[str]:
    """Return the texts alone."""
    return [event for event in read(document)[0] if isinstance(event, str)]


def test_a_document_becomes_starts_texts_and_ends() -> None:
    """If a document has all that XML has, then it comes out as it was meant."""
    events, faults = read(SAMPLE)
    assert events == [
        OpeningTag(
            "a", "urn:d", {"xmlns": "urn:d", "xmlns:p": "urn:p", "q": "1>2 & 3"}
        ),
        OpeningTag("loc", "urn:d", {}),
        "http://e/?a=1&b=2&c=3",
        ClosingTag("loc"),
        OpeningTag("p:x", "urn:p", {"y": '"'}),
        ClosingTag("p:x"),
        " t<b>&amp;]] >its < own&none;\n",
        OpeningTag("loc", "urn:d", {}),
        "éééé",
        ClosingTag("loc"),
        ClosingTag("a"),
    ]
    assert faults == {Reason.REPAIRED: 1}


def test_events_do_not_depend_on_where_pieces_are_cut() -> None:
    """If a document comes in two pieces or by characters, then nothing changes."""
    whole, _ = read(SAMPLE)
    for at in range(len(SAMPLE)):
        tokenizer = MarkupTokenizer(FaultLog())
        assert tokenizer.feed(SAMPLE[:at]) + tokenizer.feed(SAMPLE[at:]) == whole, at
    tokenizer = MarkupTokenizer(FaultLog())
    assert [event for char in SAMPLE for event in tokenizer.feed(char)] == whole


def test_a_reference_over_a_border_of_pieces_is_one() -> None:
    """If `&amp;` lies on the border of two reads, then it becomes one character."""
    for n in range(65520, 65540):
        url = "http://e/" + "x" * (n % 97)
        body = f"<a><!--{'-' * n} --><loc>{url}&amp;y</loc></a>"
        assert texts(body) == [url + "&y"]


def test_a_text_that_the_document_cuts_does_not_come_out() -> None:
    """If a document ends anywhere, then each of its texts is complete or missing."""
    body = SAMPLE.encode()
    whole = texts(body)
    for at in range(len(body)):
        events, faults = read(body[:at])
        found = [event for event in events if isinstance(event, str)]
        assert found == whole[: len(found)], at
        assert {Reason.INCOMPLETE, Reason.EMPTY} & set(faults), at


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"\xef\xbb\xbf \n<?xml version='1.0'?><a>\xc3\xa9</a>", "é"),
        (b" \n <?xml version='1.0' encoding='iso-8859-1'?><a>\xe9</a>", "é"),
        ("\ufeff<a>é</a>".encode("utf-16-le"), "é"),
        ("\ufeff<a>é</a>".encode("utf-16-be"), "é"),
        ("<?xml version='1.0' encoding='utf-16'?><a>é</a>".encode("utf-16-le"), "é"),
        ("<?xml version='1.0' encoding='windows-1251'?><a>д</a>".encode("cp1251"), "д"),
        (b"<?xml version='1.0' encoding='no-such'?><a>\xc3\xa9</a>", "é"),
        (b"<?xml version='1.0'><a>no question mark</a>", "no question mark"),
        (b"<!DOCTYPE a SYSTEM 'http://e/a.dtd'><a>x</a>", "x"),
    ],
)
def test_encodings_and_prologs(body: bytes, text: str) -> None:
    """If a document begins strangely, then it is still read."""
    assert texts(body) == [text]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("a &lt;&gt;&quot;&apos;&amp; b", "a <>\"'& b"),
        ("&amp;amp;", "&amp;"),
        ("&nope;&also.not;", "&nope;&also.not;"),
        ("a&b;c", "a&b;c"),
        ("a & b &", "a & b &"),
        ("?a=1&copy=2&lt=3", "?a=1&copy=2&lt=3"),
        ("&#0;&#xD800;&#x110000;&#65;", "&#0;&#xD800;&#x110000;A"),
        ("&am<!-- -->p;", "&amp;"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("<![CDATA[a]]><![CDATA[&b;]]>c", "a&b;c"),
        ("5 < 6", "5 < 6"),
        ("]]>", "]]>"),
    ],
)
def test_references(written: str, read_as: str) -> None:
    """If a text has references, then those that are known are replaced, once."""
    assert texts(f"<a>{written}</a>") == [read_as]


def test_a_bomb_of_entities_does_not_go_off() -> None:
    """If entities are made of entities, then they stay as they are written."""
    levels = "".join(f"<!ENTITY e{n + 1} '{f'&e{n};' * 10}'>" for n in range(9))
    body = f"<!DOCTYPE a [<!ENTITY e0 'lol'>{levels}]><a>&e9;&e0;</a>"
    events, faults = read(body)
    assert events[1] == "&e9;lol"
    assert faults[Reason.ENTITY_EXPANSION] == 9


def test_an_entity_that_is_used_often_stops_growing() -> None:
    """If a short entity is used a million times, then it is replaced 64 KiB long."""
    body = f"<!DOCTYPE a [<!ENTITY x '{'y' * 1000}'>]><a>{'&x;' * 200_000}</a>"
    events, faults = read(body)
    assert len(events[1]) < 64 * 1024 + 3 * 200_000
    assert Reason.ENTITY_EXPANSION in faults


@pytest.mark.parametrize(
    "declaration",
    ["<!ENTITY x SYSTEM 'file:///etc/passwd'>", "<!ENTITY % x SYSTEM 'http://e/'>%x;"],
)
def test_nothing_outside_is_read(declaration: str) -> None:
    """If an entity is external, then the reference stays, and it is a fault."""
    events, faults = read(f"<!DOCTYPE a [{declaration}]><a>&x;</a>")
    assert events[1] == "&x;"
    assert faults[Reason.ENTITY_EXPANSION] == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"<a><b>{'x' * 101}</b><c>kept</c></a>", Reason.LITERAL_TOO_LONG),
        (f"<a><b><![CDATA[{'x' * 101}]]></b><c>kept</c></a>", Reason.LITERAL_TOO_LONG),
        (f"<a>{'<b>' * 20}x{'</b>' * 20}<c>kept</c></a>", Reason.TOO_DEEP),
        (
            f"<a><b{''.join(f' x{n}=1' for n in range(30))}/><c>kept</c></a>",
            Reason.SYNTAX,
        ),
        (f"<a>{'<' * 30}<c>kept</c></a>", Reason.SYNTAX),
        (f"<!DOCTYPE a [{' ' * 300}]><a><c>kept</c></a>", Reason.ENTITY_EXPANSION),
    ],
)
def test_bounds_leave_out_and_go_on(body: str, reason: Reason) -> None:
    """If a part of a document is beyond a bound, then what follows is kept."""
    limits = MarkupLimits(text_chars=100, tag_chars=200, n_attributes=10, depth=8)
    log = FaultLog()
    tokenizer = MarkupTokenizer(log, limits=limits)
    events = [
        event
        for at in range(0, len(body), 7)
        for event in tokenizer.feed(body[at : at + 7])
    ]
    assert events[-4:] == [
        OpeningTag("c", "", {}),
        "kept",
        ClosingTag("c"),
        ClosingTag("a"),
    ]
    assert reason in {fault.reason for fault in log.all()}


def test_no_input_takes_quadratic_time() -> None:
    """If markup never ends, then 128 KiB of it are still read soon."""
    n = 2**17  # quadratic passes over it take minutes
    for piece in (
        "<",
        "<a ",
        "<a x='",
        "</a",
        "<!--",
        "<!",
        "<?",
        "&",
        "<![CDATA[",
        "<a>",
    ):
        read("<r>" + piece * (n // len(piece)))
        read("<r>" + piece + "x" * n)


def test_the_size_of_a_document_is_bounded() -> None:
    """If a document is larger than is read, then the rest is a fault."""
    events, faults = read(b"<a>" + b"<b>x</b>" * 1000, MarkupLimits(n_bytes=4000))
    assert events.count("x") == 499
    assert faults[Reason.TOO_LARGE] == 1


def test_a_source_that_fails_keeps_what_came_before() -> None:
    """If the bytes end in a fault, then it is noted, and nothing is lost."""

    class Failing(io.RawIOBase):
        pieces = iter([b"<a><b>x</b>"])

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            for piece in self.pieces:
                buffer[: len(piece)] = piece
                return len(piece)
            raise SourceFault(Reason.BAD_ARCHIVE, "cut off")

    log = FaultLog()
    source = ByteSource(reopen=lambda: io.BufferedReader(Failing(), 16))
    assert list(iter_events(source, log=log))[2:4] == ["x", ClosingTag("b")]
    assert log.count(Reason.BAD_ARCHIVE) == 1


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("<r><url><loc>a<url><loc>b</url></r>", "url loc /loc /url url loc /loc /url"),
        ("<r><url><loc>a<lastmod>b</url></r>", "url loc /loc lastmod /lastmod /url"),
        ("<r><url><loc>a<b>c</b></loc></url></r>", "url loc b /b /loc /url"),
        ("<r><url><loc>a</LOC></x></url></r>", "url loc /loc /url"),
        (
            "<r><url><loc>a</loc <lastmod>b</lastmod></url></r>",
            "url loc /loc lastmod /lastmod /url",
        ),
        ("<r><s:url><s:loc>a</loc></url></r>", "s:url s:loc /s:loc /s:url"),
    ],
)
def test_elements_that_are_not_closed(body: str, names: str) -> None:
    """If the structure is known, then unclosed elements end at the right place."""
    structure = ElementStructure(
        records=frozenset({"url"}), leaves=frozenset({"loc", "lastmod"})
    )
    found = []
    log = FaultLog()
    for event in iter_events(ByteSource(body.encode()), log=log, structure=structure):
        if isinstance(event, OpeningTag):
            found.append(event.name)
        elif isinstance(event, ClosingTag):
            found.append("/" + event.name)
    assert found == ["r", *names.split(), "/r"]


def test_namespaces_end_with_their_elements() -> None:
    """If prefixes are declared again, then each counts within its element."""
    body = "<a xmlns='u:1'><b xmlns='u:2' xmlns:p='u:3'><p:c/><c/></b><b/><p:c/></a>"
    events, _ = read(body)
    found = [(x.name, x.namespace) for x in events if isinstance(x, OpeningTag)]
    assert found == [
        ("a", "u:1"),
        ("b", "u:2"),
        ("p:c", "u:3"),
        ("c", "u:2"),
        ("b", "u:1"),
        ("p:c", ""),
    ]


def elements(body: str) -> tuple[list[OpeningTag | Element], FaultLog]:
    """Return the elements of a document."""
    log = FaultLog()
    events = iter_events(ByteSource(body.encode()), log=log)
    return list(iter_elements(events, containers=frozenset({"c"}), log=log)), log


def test_elements_come_one_by_one() -> None:
    """If a root has containers, then their children come, and nothing above them."""
    found, _ = elements("<r>x<a y='1'>t<b>u</b></a><c><a/></c><d><c>v</c></d></r>")
    assert [x.name for x in found] == ["r", "a", "c", "a", "d"]
    first = found[1]
    assert isinstance(first, Element)
    assert (first.text, first.children[0].text, first.is_complete) == ("t", "u", True)
    assert first.attribute("y") == "1"


def test_an_element_that_is_cut_says_so() -> None:
    """If a document ends in an element, then the element is yielded as incomplete."""
    found, _ = elements("<r><a>1</a><a><b>2</b><b>3")
    last = found[-1]
    assert isinstance(last, Element)
    assert [x.text for x in last.children] == ["2", ""]
    assert [last.is_complete, *(x.is_complete for x in last.children)] == [
        False,
        True,
        False,
    ]


def test_an_element_of_too_many_parts_says_so() -> None:
    """If an element exceeds the limits, then it is incomplete."""
    found, log = elements(f"<r><a>{'<b/>' * (MAX_PARTS + 1)}</a><a/></r>")
    assert [x.is_complete for x in found if isinstance(x, Element)] == [False, True]
    assert log.count(Reason.TOO_LARGE) == 1


def test_a_large_document_is_read_in_flat_memory() -> None:
    """If a document has tens of thousands of elements, then none of them is kept."""
    rest = b""
    pieces = iter([b"<r>", *[b"<a><b>some text</b></a>" * 100] * 250])

    class Many(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            nonlocal rest
            rest = rest or next(pieces, b"")
            n_bytes = min(len(rest), len(buffer))
            buffer[:n_bytes], rest = rest[:n_bytes], rest[n_bytes:]
            return n_bytes

    log = FaultLog()
    source = ByteSource(reopen=lambda: io.BufferedReader(Many(), 2**16))
    tracemalloc.start()
    try:
        n = sum(1 for _ in iter_elements(iter_events(source, log=log), log=log))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n == 25_001
    assert peak < 8 * 2**20


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<a>",
                "</a>",
                "<b x='",
                "'",
                '"',
                ">",
                "<",
                "&amp;",
                "&#",
                ";",
                "<!--",
                "-->",
                "<![CDATA[",
                "]]>",
                "<?",
                "?>",
                "<!DOCTYPE",
                "[",
                "]",
                "x",
                " ",
                "<loc>",
                "</loc>",
                "<url",
                "/>",
                "\r",
                "é",
                "\x00",
                "xmlns:p='u'",
                "p:",
            ]
        )
    ),
    st.integers(1, 20),
)
def test_any_markup_is_read(parts: list[str], size: int) -> None:
    """If pieces of markup stand in any order, then starts and ends are balanced."""
    body = "".join(parts)
    structure = ElementStructure(records=frozenset({"url"}), leaves=frozenset({"loc"}))
    tokenizer = MarkupTokenizer(FaultLog(), structure=structure)
    whole = tokenizer.feed(body)
    tokenizer.close()
    by_piece = MarkupTokenizer(FaultLog(), structure=structure)
    events = [
        event
        for at in range(0, len(body), size)
        for event in by_piece.feed(body[at : at + size])
    ]
    assert events == whole
    open_ = []
    for event in whole:
        if isinstance(event, OpeningTag):
            open_.append(event.name)
        elif isinstance(event, ClosingTag):
            assert open_.pop() == event.name
        else:
            assert open_
