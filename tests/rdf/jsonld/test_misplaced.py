"""Keywords in place are found by their number, and others by looking at each object."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.jsonld.contents import remove_misplaced, walk
from tests.support.examples import examples

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault

LANGUAGE = {"@language": "en"}
CONTEXTS = st.sampled_from(
    [
        *(LANGUAGE, {"a": {"@id": "urn:a", "@container": "@list"}}, {"a": LANGUAGE}),
        *({"a": {"@value": "x"} | LANGUAGE}, {"a": {"@list": ["x"]}}, "urn:context"),
    ]
)
PIECES = st.sampled_from(
    [
        *({"@value": "x"}, {"@value": "x"} | LANGUAGE, LANGUAGE, {"b": 1} | LANGUAGE),
        *({"@id": "urn:b"} | LANGUAGE, {"@id": "urn:b", "@list": ["x"]}, {"@set": []}),
        *({"@list": ["x"]}, {"@list": ["x"], "@index": "i"}, {"@list": [1], "b": 1}),
        *("@list", "@language", '"@language"', {"@value": "x", "@direction": "ltr"}),
    ]
)
LISTS = st.lists(PIECES, max_size=3)
DOCUMENTS = st.fixed_dictionaries(
    {"a": LISTS},
    optional={"@context": CONTEXTS, "@graph": LISTS, "@list": LISTS}
    | {"@language": st.just("en"), "b": st.fixed_dictionaries({"@list": LISTS})},
)


def removed(value: Any, text: str) -> tuple[bool, Any, list[Fault]]:
    """Return the result of a removal, the value after it, and the faults."""
    value, log = deepcopy(value), FaultLog()
    return remove_misplaced(value, walk(value), log, text), value, log.all()


@settings(max_examples=examples(300), deadline=None)
@example(value={"a": [{"@value": "x"}], "@language": "en"}, is_ascii=True)
@example(value={"a": [{"@id": "urn:b", "@list": ["x"]}]}, is_ascii=True)
@example(
    value={"@context": {"a": {"@list": ["x"]}}, "a": [], "@list": []}, is_ascii=True
)
@given(value=DOCUMENTS, is_ascii=st.booleans())
def test_text_makes_no_difference(value: Any, *, is_ascii: bool) -> None:
    """If the text of a document is known, then the same keywords are removed."""
    text = json.dumps(value)
    if not is_ascii:
        text = text.replace("@l", "\\u0040l", 1)
    assert removed(value, text) == removed(value, "")
