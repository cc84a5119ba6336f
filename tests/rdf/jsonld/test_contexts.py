"""Where contexts come from, and the bounds on loading them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason
from rdfcrawl.rdf.environment import (
    INLINE,
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    bundled_context,
)
from rdfcrawl.rdf.jsonld.contexts import MAX_CONTEXTS, iter_references
from rdfcrawl.rdf.jsonld.reading import read_json_ld
from tests.support.jsonld_reading import Contexts, read

_FOLDER = files("rdfcrawl") / "rdf" / "data" / "contexts"
_INDEX = json.loads((_FOLDER / "index.json").read_text("utf-8"))
_NAME = {"name": "http://n.example/name"}
# of a context that is missing, and of a term that it may define
_MISSING = [Reason.REMOTE_CONTEXT, Reason.BAD_TERM]


@pytest.mark.parametrize("name", sorted(set(_INDEX.values())))
def test_bundled_context_stands_alone_and_is_licensed(name: str) -> None:
    """If a context is bundled, then so are its references, and its licence is named."""
    document = json.loads((_FOLDER / name).read_text("utf-8"))
    assert set(iter_references(document["@context"])) <= _INDEX.keys()
    assert f"| `{name}` |" in (_FOLDER / "LICENSES.md").read_text("utf-8")


def test_no_bundled_file_is_without_url() -> None:
    """If a file is shipped, then the index names it."""
    shipped = {path.name for path in _FOLDER.iterdir() if ".jsonld" in path.name}
    assert shipped == set(_INDEX.values())


@pytest.mark.parametrize(
    "url",
    [
        "https://schema.org",
        "http://schema.org/",
        "https://www.w3.org/ns/activitystreams",
        "http://www.w3.org/ns/credentials/v2",
        "https://w3id.org/security/v2",
        "https://w3id.org/ro/crate/1.1/context",
    ],
)
def test_spellings_of_bundled_contexts_are_known(url: str) -> None:
    """If a well-known context is named, then no request is sent for it."""
    assert bundled_context(url)


def test_a_context_is_asked_for_once() -> None:
    """If a document names a context often, then it is loaded once."""
    contexts = Contexts({"http://c.example/": {"@context": _NAME}})
    document = [{"@context": "http://c.example/#x", "name": n} for n in range(3)]
    lines, faults = read(document, contexts=contexts, is_bounded=False)
    assert lines.count(b"http://n.example/name") == 3
    assert contexts.asked == ["http://c.example/"]
    assert not faults


def test_a_relative_reference_is_resolved_against_what_names_it() -> None:
    """If a context names another one, then its own URL resolves that."""
    contexts = Contexts(
        {
            "http://example.org/c/one": {"@context": ["two"]},
            "http://example.org/c/two": {"@context": _NAME},
        }
    )
    lines, faults = read({"@context": "c/one", "name": 1}, contexts=contexts)
    assert lines.count(b"\n") == 1
    assert not faults


def test_a_linked_context_comes_first() -> None:
    """If a `Link` header names a context, then the document's own can override it."""
    linked = {"@context": {**_NAME, "b": "http://n.example/b"}}
    contexts = Contexts({"http://c.example/": linked})
    document = [{"@context": {"name": "http://own.example/"}, "name": 1, "b": 2}]
    lines, faults = read(document, contexts=contexts, context_url="http://c.example/")
    assert b"<http://own.example/>" in lines
    assert b"<http://n.example/b>" in lines
    plain, _ = read({"name": 1}, contexts=contexts, context_url="http://c.example/")
    assert b"<http://n.example/name>" in plain
    assert not faults


def _chain(n: int) -> Contexts:
    documents: dict[str, Any] = {
        f"http://c.example/{i}": {"@context": f"http://c.example/{i + 1}"}
        for i in range(1, n)
    }
    return Contexts(documents | {f"http://c.example/{n}": {"@context": _NAME}})


@pytest.mark.parametrize("extra", [0, 1])
def test_chains_of_contexts_end_at_their_largest_depth(extra: int) -> None:
    """If contexts name contexts, then only so many levels are followed."""
    contexts = _chain(MAX_CONTEXT_DEPTH + extra)
    document = {"@context": "http://c.example/1", "name": 1}
    lines, faults = read(document, contexts=contexts)
    assert bool(lines) is not bool(extra)
    assert [x.reason for x in faults] == _MISSING[: 2 * extra]


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("is_bounded", [False, True])
def test_contexts_that_loop_are_a_named_fault(scoped: bool, is_bounded: bool) -> None:
    """If contexts name each other, then that ends, with a fault where it must."""
    term = {"@id": "http://n.example/name", "@context": "b"}
    one = {"@context": {"name": term} if scoped else ["b", _NAME]}
    contexts = Contexts(
        {"http://c.example/a": one, "http://c.example/b": {"@context": ["a"]}}
    )
    document = {"@context": "http://c.example/a", "name": {"name": 1} if scoped else 1}
    try:
        lines, faults = read(document, contexts=contexts, is_bounded=is_bounded)
    except NeedsSandbox:
        assert not is_bounded
        return
    assert len(contexts.asked) <= 2
    assert lines.count(b"\n") == 1 + scoped
    assert [x.reason for x in faults] == [Reason.REMOTE_CONTEXT] * (not scoped)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "data:application/ld+json,{}",
        "ftp://c.example/",
        "urn:x:y",
        "http://[c.example/",
        "http://[c.example/#c",
        "http://c.example/absent",
    ],
)
def test_what_cannot_be_had_is_a_named_fault(url: str) -> None:
    """If a context is not a document of the Web, then it is refused unasked."""
    contexts = Contexts({})
    lines, faults = read({"@context": url, "name": 1}, contexts=contexts)
    assert not lines
    assert [x.reason for x in faults] == _MISSING
    assert url in faults[0].detail
    assert all(asked.startswith("http") for asked in contexts.asked)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"@context": {}}' + b" " * MAX_CONTEXT_BYTES, id="large"),
        pytest.param(b'{"@context": {', id="cut off"),
        pytest.param(b"<html>", id="HTML"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"\xff", id="bytes"),
    ],
)
def test_bad_contexts_cost_the_terms_of_no_other(content: bytes) -> None:
    """If the loaded document is not a context, then its terms are lost and counted."""
    contexts = Contexts({"http://c.example/": content})
    document = {"@context": ["http://c.example/", _NAME], "name": 1, "a": [2, 3]}
    lines, faults = read(document, contexts=contexts)
    assert lines.count(b"\n") == lines.count(b"<http://n.example/name>") == 1
    assert [x.reason for x in faults] == _MISSING
    assert [x.count for x in faults] == [1, 2]


@pytest.mark.parametrize("extra", [0, 1])
def test_documents_name_a_bounded_number_of_contexts(extra: int) -> None:
    """If a document names too many contexts, then it is read without the others."""
    urls = [f"http://c.example/{n}" for n in range(MAX_CONTEXTS + extra)]
    contexts = Contexts({url: {"@context": _NAME} for url in urls})
    lines, faults = read({"@context": urls, "name": 1}, contexts=contexts)
    assert lines.count(b"<http://n.example/name>") == 1
    assert [x.reason for x in faults] == [Reason.REMOTE_CONTEXT] * extra
    assert len(contexts.asked) == MAX_CONTEXTS


@pytest.mark.parametrize("key", ["@context", "@import", "scoped"])
def test_a_context_that_must_be_waited_for_needs_the_sandbox(key: str) -> None:
    """If a context is not at hand, then the reader says so before it yields."""
    context: Any = "http://c.example/"
    if key == "@import":
        context = {"@version": 1.1, "@import": context}
    elif key == "scoped":
        context = {"name": {"@id": "http://n.example/", "@context": context}}
    data = json.dumps({"@context": context, "name": {"name": 1}}).encode()
    blocks = read_json_ld(
        data,
        base="http://example.org/",
        environment=INLINE,
        log=FaultLog(),
    )
    with pytest.raises(NeedsSandbox):
        next(blocks)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"@context":' * 100_000, '[{"a":' * 50_000]
)
def test_deep_documents_are_a_named_fault(text: str) -> None:
    """If a document is nested too deeply, then it is refused before it is parsed."""
    lines, faults = read(text.encode())
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]


@pytest.mark.in_turn(2)
def test_a_long_chain_of_terms_is_not_followed_by_recursion() -> None:
    """If terms define one another in a chain, then no stack overflows."""
    terms = {f"t{n}": f"t{n + 1}:x" for n in range(9000)}
    contexts = Contexts({"http://c.example/": {"@context": terms}})
    document = {"@context": "http://c.example/", "t0": 1}
    lines, faults = read(document, contexts=contexts)
    assert not lines
    assert [x.reason for x in faults] == [Reason.SYNTAX]
