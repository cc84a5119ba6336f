"""JSON-LD in pages, damaged and not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.environment import INLINE, ReaderContext
from rdfcrawl.rdf.html.jsonld import MAX_BLOCKS, extract_json_ld, iter_blocks, load_json
from rdfcrawl.rdf.html.page import ParsedPage
from tests.support.cpu_time import takes_at_most
from tests.support.examples import examples

URL = "http://a.example/dir/page"
BOUNDED = ReaderContext(is_bounded=True)


def script(text: str, attributes: str = "") -> str:
    """Return a block."""
    return f'<script type="application/ld+json"{attributes}>{text}</script>'


def read(html: str, log: FaultLog, environment: ReaderContext = BOUNDED) -> str:
    """Return the statements of a page's blocks."""
    page = ParsedPage(html.encode(), url=URL)
    return b"".join(extract_json_ld(page, environment, log)).decode()


def reason_of(text: str) -> Reason | None:
    """Return why a block is refused."""
    try:
        load_json(text)
    except SourceFault as error:
        return error.fault.reason
    return None


# -- blocks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "profiles"),
    [
        ("type='application/ld+json'", [""]),
        ("type=' Application/LD+JSON ; charset=utf-8'", [""]),
        ("type='application/ld+json;profile=\"a:b c:d\"'", ["a:b c:d"]),
        ("type='application/ld+json; profile=a:b'", ["a:b"]),
        ("type='application/json'", []),
        ("type=''", []),
        ("", []),
    ],
)
def test_blocks_are_known_by_their_type(attributes: str, profiles: list[str]) -> None:
    """If a script's type is JSON-LD, with parameters or not, then it is a block."""
    page = ParsedPage(f"<script {attributes}>{{}}</script>".encode(), url=URL)
    assert list(iter_blocks(page)) == [("{}", profile) for profile in profiles]


def test_blocks_are_what_the_parser_says() -> None:
    """If a script is in a comment or template, then it is none; its text is raw."""
    html = f"<!-- {script('1')} --><template>{script('2')}</template>{script('&lt;')}"
    assert list(iter_blocks(ParsedPage(html.encode(), url=URL))) == [("&lt;", "")]


def test_a_fragment_names_a_block() -> None:
    """If a fragment is asked for, then it must be a script of JSON-LD."""
    html = script("1", " id=a") + script("2", " id=b") + "<p id=c>x</p><script id=d>"
    page = ParsedPage(html.encode(), url=URL)
    assert list(iter_blocks(page, "b")) == [("2", "")]
    for fragment in ("c", "d", "e"):
        with pytest.raises(SourceFault, match="loading document failed"):
            list(iter_blocks(page, fragment))


def test_blocks_of_a_page_that_is_too_deep_are_found() -> None:
    """If a page cannot be parsed, then its blocks are found all the same."""
    html = f"<!-- {script('1')} -->{script('{}')}" + "<div>" * 50_000
    assert list(iter_blocks(ParsedPage(html.encode(), url=URL))) == [("{}", "")]


# -- statements ----------------------------------------------------------------------


def test_a_bad_block_takes_nothing_from_the_others() -> None:
    """If one block is beyond repair, then the others are read and it is a fault."""
    log = FaultLog()
    good = script('{"@id": "%s", "a:p": "x"}')
    text = read(good % "q" + script('{"a":') + good % "/r", log)
    assert text.splitlines() == [
        '<http://a.example/dir/q> <a:p> "x" .',
        '<http://a.example/r> <a:p> "x" .',
    ]
    assert log.count(Reason.SYNTAX) == 1


def test_blank_nodes_of_blocks_are_apart() -> None:
    """If two blocks have nodes without name, then these are different nodes."""
    log = FaultLog()
    text = read(script('{"@id": "_:b0", "a:p": "x"}') * 2, log)
    assert len({line.split()[0] for line in text.splitlines()}) == 2


def test_contexts_and_frames_state_nothing() -> None:
    """If a block is a context or a frame for scripts, then it is not read."""
    profile = "http://www.w3.org/ns/json-ld#context"
    html = f"<script type='application/ld+json;profile={profile}'>[1,2</script>"
    log = FaultLog()
    assert read(html + script("  "), log) == ""
    assert log.all() == []


def test_what_needs_a_sandbox_leaves_nothing_here() -> None:
    """If one block needs a context from afar, then none is read, nothing is noted."""
    log = FaultLog()
    far = '{"@context": "http://far.example/c", "@id": "a:b", "c:d": "x"}'
    with pytest.raises(NeedsSandbox):
        read(script('{"@id": "q", "a:p": "x",}') + script(far), log, INLINE)
    assert log.all() == []


def test_more_blocks_than_pages_have_are_left() -> None:
    """If a page has very many blocks, then those beyond the limit are a fault."""
    log = FaultLog()
    page = ParsedPage((script("{}") * (MAX_BLOCKS + 5)).encode(), url=URL)
    for _ in extract_json_ld(page, INLINE, log):
        pass
    assert log.count(Reason.TOO_LARGE) == 1


# -- repair --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": "/* b */ , ]"}', {"a": "/* b */ , ]"}, {}),
        ('{"a": "&quot;"}', {"a": "&quot;"}, {}),
        ('\ufeff{"a": 1}', {"a": 1}, {"byte order mark": 1}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}, {"trailing commas": 2}),
        ('{"a": 1,,"b": 2}', {"a": 1, "b": 2}, {"trailing commas": 1}),
        ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, {"control characters": 1}),
        ('/* b */{"a": 1} // c', {"a": 1}, {"comments": 2}),
        ('{"a": "//b", // c\n"d": 1}', {"a": "//b", "d": 1}, {"comments": 1}),
        ('<!-- b "c -->{"a": "<!--d-->",}', {"a": "<!--d-->"}, None),
        ('<!--\n{"a": 1}\n//-->', {"a": 1}, {"HTML comments": 2}),
        ('<!-- {"a": 1} -->', {"a": 1}, {"HTML comments": 2}),
        ('//<![CDATA[\n{"a": 1}\n//]]>', {"a": 1}, {"CDATA": 2}),
        ('<![CDATA[{"a": "]]>"}]]>', {"a": "]]>"}, {"CDATA": 2}),
        ('/*<![CDATA[*/{"a": 1}/*]]>*/', {"a": 1}, {"comments": 2}),
        (
            "{&quot;a&quot;: &#34;b &amp;amp; c&#34;}",
            {"a": "b &amp; c"},
            {"HTML entities": 1},
        ),
        (r'{"a": "it\'s \d"}', {"a": "it's d"}, {"wrong escapes": 2}),
        ('{"a": 1};', {"a": 1}, {"text after JSON": 1}),
        ('{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}], {"several values": 1}),
        ('{"a": 1} b', {"a": 1}, {"text after JSON": 1}),
    ],
)
def test_damage_is_repaired_and_counted(
    text: str, value: object, repairs: dict[str, int] | None
) -> None:
    """If JSON is damaged in a usual way, then it is read, and each repair counted."""
    found, counted = load_json(text)
    assert found == value
    if repairs is not None:
        assert dict(counted) == repairs


@pytest.mark.parametrize(
    "text",
    [
        '{"a": }',
        '{"a": NaN}',
        "{'a': 1}",
        '{"a": 1',
        "",
        "//",
        '"\\',
        "[1 2]",
        "&quot;",
    ],
)
def test_what_is_beyond_repair_is_a_named_fault(text: str) -> None:
    """If JSON is ambiguous, then that is a fault, never a guess."""
    with pytest.raises(SourceFault) as caught:
        load_json(text)
    assert caught.value.fault.reason is Reason.SYNTAX


HOSTILE = {
    "brackets": "[" * 100_000,
    "brackets behind a comment": '/*"*/' + "[" * 100_000,
    "escaped quotes": '{"' + '\\"' * 300_000,
    "comments": "{" + "/*" * 300_000,
    "html comments": "{" + "<!-" * 300_000,
    "commas": "[" + "," * 300_000,
    "spaced commas": "[" + ", " * 300_000,
    "spaces": "[1" + " " * 300_000 + "x]",
    "slashes": "[1" + "//  " * 300_000,
    "entities": "{" + "&quot;" * 300_000,
    "digits": "[" + "1" * 300_000 + "]",
    "values": "{}" * 300_000 + "{",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_ends(text: str) -> None:
    """If JSON is made to be slow or deep, then it is read in a moment or refused."""
    assert reason_of(text) in {None, Reason.SYNTAX, Reason.TOO_DEEP}


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_JSON)
@settings(max_examples=examples(200), deadline=None)
def test_valid_json_is_never_changed(value: Any) -> None:
    """If JSON is valid, then it is read unchanged and nothing is counted."""
    assert load_json(json.dumps(value)) == (value, {})
    assert load_json(json.dumps(value, ensure_ascii=False)) == (value, {})


_DAMAGE = (
    *('"', "\\", "/*", "*/", "//", "<!--", "-->", ",", "}", "[", "&quot;"),
    *("<![CDATA[", "]]>", "\n", "\0", "\ufeff", "\ud800", ";", "'"),
)


@given(_JSON, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_damaged_json_raises_only_a_fault(value: Any, data: st.DataObject) -> None:
    """If bytes of JSON are mutated, then it is read or it is a fault."""
    text = json.dumps({"a": value}, indent=1)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(st.sampled_from(_DAMAGE))
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 2)) :]
    assert reason_of(text) in {None, Reason.SYNTAX}


def test_comments_that_do_not_end_take_no_time() -> None:
    """If a block has very many comments that do not end, then it is read once."""
    with takes_at_most(20), pytest.raises(SourceFault):
        load_json("<!--" * 100_000)
    assert load_json('{"a": 1} <!-- b')[0] == {"a": 1}
    assert load_json('<!-- {"a": 1}')[0] == {"a": 1}
