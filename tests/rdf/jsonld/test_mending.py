"""Text that is nearly JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.rdf.jsonld.mending import mended_json
from rdfcrawl.rdf.nesting import strict_json
from tests.support.cpu_time import takes_at_most
from tests.support.examples import examples


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
        ('{"a": 1};', {"a": 1}, {"trailing commas": 1}),
        ('{"a": 1, "a": [2]}', {"a": [1, 2]}, {"duplicate keys": 1}),
        ("{'a': 'it's', b: 1}", {"a": "it's", "b": 1}, None),
        ('{"a": 007, "b": 1,50}', {"a": "007", "b": "1,50"}, {"numbers as text": 2}),
        ('{"a": "a "b", c", "d": 1}', {"a": 'a "b", c', "d": 1}, None),
        ('{"a": 1 "b": 2; "c" "d"}', {"a": 1, "b": 2, "c": "d"}, None),
        ("{“a”: “b”}\u00a0", {"a": "b"}, None),
        ('call({"a": "b" + "c"});', {"a": "bc"}, None),
        ('{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}], {"several values": 1}),
        ('{"a": 1} b', {"a": 1}, {"text after JSON": 1}),
    ],
)
def test_damage_is_repaired_and_counted(
    text: str, value: object, repairs: dict[str, int] | None
) -> None:
    """If JSON is damaged in a usual way, then it is read, and each repair counted."""
    found = mended_json(text, merges=True)
    values = value if isinstance(value, list) else [value]
    assert found.values == values
    assert not found.losses
    if repairs is not None:
        assert dict(found.repairs) == repairs


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        "",
        "//",
        '"\\',
        "&quot;",
    ],
)
def test_text_beyond_repair_has_no_values(text: str) -> None:
    """If text has no complete node, then it has no values."""
    assert not mended_json(text).values


@pytest.mark.parametrize(
    "member", ['"a": ', '"a": b', '"a": {{b}}', '"a"', '"a": f(x)', '"a": \\']
)
def test_bad_member_is_lost_alone(member: str) -> None:
    """If a member cannot be read, then it is left out and counted, and no other."""
    for text in (f'{{{member}, "c": 1}}', f'{{"c": 1, {member}}}'):
        found = mended_json(text)
        assert found.values == [{"c": 1}]
        assert found.losses


HOSTILE = {
    "brackets": "[" * 100_000,
    "brackets behind a comment": '/*"*/' + "[" * 100_000,
    "escaped quotes": '{"' + '\\"' * 100_000,
    "comments": "{" + "/*" * 100_000,
    "html comments": "{" + "<!-" * 100_000,
    "commas": "[" + "," * 100_000,
    "spaced commas": "[" + ", " * 100_000,
    "spaces": "[1" + " " * 100_000 + "x]",
    "slashes": "[1" + "//  " * 100_000,
    "entities": "{" + "&quot;" * 100_000,
    "digits": "[" + "1" * 100_000 + "]",
    "values": "{}" * 100_000 + "{",
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_ends(text: str) -> None:
    """If JSON is made to be slow or deep, then it is read in a moment or refused."""
    with takes_at_most(7), suppress(SourceFault):
        mended_json(text)


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
    for is_ascii in (True, False):
        text = json.dumps({"a": value}, ensure_ascii=is_ascii)
        assert strict_json(text) == {"a": value}
        found = mended_json(text, merges=True)
        assert found.values == [{"a": value}]
        assert not found.losses
        assert mended_json(text + ",").values == [{"a": value}]


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
    mended_json(text)


def test_comments_that_do_not_end_take_no_time() -> None:
    """If a block has very many comments that do not end, then it is read once."""
    with takes_at_most(20):
        assert not mended_json("<!--" * 100_000).values
    for text in ('{"a": 1} <!-- b', '<!-- {"a": 1}'):
        assert mended_json(text).values == [{"a": 1}]
