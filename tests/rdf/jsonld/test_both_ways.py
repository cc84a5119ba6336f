"""The fast reader gives the same statements as PyLD, or is not used."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.fast import fast_blocks
from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements
from tests.support.examples import examples
from tests.support.jsonld_reading import BASE, Contexts, canonical, read_whole

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites

SUITE = "https://w3c.github.io/json-ld-api/tests/"


def _fast(value: Any, base: str, contexts: Contexts) -> bytes | None:
    before = json.dumps(value)
    loader = ContextLoader(contexts, document_url=base)
    options = JsonLdReaderOptions(base=base, mends=False)
    blocks = fast_blocks(value, options, loader)
    assert json.dumps(value) == before
    return None if blocks is None else b"".join(blocks)


def _assert_same(value: Any, contexts: Contexts | None = None) -> None:
    contexts = contexts or Contexts({})
    lines = _fast(value, BASE, contexts)
    assert lines is not None
    whole = read_whole(value, base=BASE, contexts=contexts)
    assert canonical(lines) == canonical(whole)
    assert lines


def test_suite_is_read_alike(suites: Suites) -> None:
    """If a positive case of the suite goes the fast way, then both ways agree."""
    folder = suites.checkout("json-ld-api") / "tests"
    manifest = json.loads((folder / "toRdf-manifest.jsonld").read_text("utf-8"))
    files = {
        SUITE + path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.jsonld")
    }
    n_fast = 0
    for case in manifest["sequence"]:
        options = case.get("option", {})
        is_positive = "jld:NegativeEvaluationTest" not in case["@type"]
        if not is_positive or options.keys() - {"base", "specVersion"}:
            continue
        value = json.loads((folder / case["input"]).read_text("utf-8"))
        base = options.get("base", SUITE + case["input"])
        lines = _fast(value, base, Contexts(files))
        if lines is not None:
            n_fast += 1
            whole = read_whole(value, base=base, contexts=Contexts(files))
            assert canonical(lines) == canonical(whole), case["@id"]
    assert n_fast > 155


ARTICLE = {
    "@context": "https://schema.org",
    "@type": ["NewsArticle", "schema:Article"],
    "@id": "#article",
    "headline": "Review: a name",
    "url": "https://news.example/a b",
    "image": ["https://news.example/1.jpg", {"@type": "ImageObject", "width": 640}],
    "datePublished": "2026-01-01T08:00:00+01:00",
    "author": [{"@type": "Person", "name": "Ann", "sameAs": "http://ann.example/"}],
    "isAccessibleForFree": False,
    "unknownTerm": {"@value": "x", "@language": "en"},
}
PLACE = {
    "@context": ["http://schema.org/", {"ex": "http://ex.example/", "name": "ex:n"}],
    "@type": "LocalBusiness",
    "name": "Café",
    "geo": {"latitude": 48.208490000000005, "longitude": 16.0, "@type": "x:GeoType"},
    "ex:rating": [0.1, 1e-7, 0.0, 12345678.5],
    "openingHoursSpecification": [{"opens": "10:00", "dayOfWeek": "Monday"}],
}
GRAPH = {
    "@context": "https://schema.org/",
    "@graph": [
        {"@type": "WebSite", "@id": "/#site", "publisher": {"@id": "/#me"}},
        {"@type": "Organization", "@id": "/#me", "logo": {"@id": "/#logo"}},
        {"@type": "BreadcrumbList", "itemListElement": [{"position": 1}, "x"]},
    ],
}
NOTE = {
    "@context": [
        "https://www.w3.org/ns/activitystreams",
        "https://w3id.org/security/v1",
        {"toot": "http://joinmastodon.org/ns#", "sensitive": "as:sensitive"},
    ],
    "id": "https://social.example/1",
    "type": "Note",
    "contentMap": {"en": "hello", "de": "hallo"},
    "sensitive": True,
    "tag": [{"type": "Mention", "href": "https://social.example/u", "name": "@u"}],
    "publicKey": {"id": "#k", "owner": "https://social.example/u"},
    "items": ["https://social.example/2"],
}
CREDENTIAL = {
    "@context": [
        "https://www.w3.org/2018/credentials/v1",
        "https://w3id.org/security/suites/ed25519-2020/v1",
    ],
    "type": ["VerifiableCredential"],
    "issuer": "did:example:1",
    "issuanceDate": "2026-01-01T00:00:00Z",
    "credentialSubject": {"id": "did:example:2"},
    "proof": {
        "type": "Ed25519Signature2020",
        "created": "2026-01-01T00:00:00Z",
        "proofPurpose": "assertionMethod",
        "verificationMethod": "did:example:1#k",
    },
}
POLICY = {
    "@context": "http://www.w3.org/ns/odrl.jsonld",
    "@type": "Set",
    "uid": "http://example.com/policy:1",
    "permission": [{"target": "http://example.com/asset", "action": "use"}],
}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(ARTICLE, id="article"),
        pytest.param(PLACE, id="place"),
        pytest.param(GRAPH, id="graph"),
        pytest.param([ARTICLE, GRAPH], id="two"),
        pytest.param(NOTE, id="activity"),
        pytest.param(POLICY, id="policy"),
    ],
)
def test_documents_of_the_web_are_read_alike(value: Any) -> None:
    """If a page's document names bundled contexts, then it goes the fast way."""
    _assert_same(value)


def test_terms_that_terms_need_are_kept() -> None:
    """If a term is defined by others, then pruning keeps those."""
    context = {
        "ex": "http://ex.example/",
        "a2": "ex:a2",
        "kind": "@type",
        "Date": "ex:Date",
        "made": {"@id": "ex:made", "@type": "Date"},
        "of": {"@reverse": "made"},
        "part": {"@id": "ex:part", "@context": {"inner": "a2"}},
        "unused": "ex:unused",
        "@base": "http://elsewhere.example/",
    }
    document = {
        "@context": "http://c.example/",
        "@id": "x",
        "made": "1",
        "kind": "Date",
        "of": {"@id": "y"},
        "part": {"inner": "z"},
    }
    _assert_same(document, Contexts({"http://c.example/": {"@context": context}}))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"@context": {"@base": "x/"}}, id="base"),
        pytest.param({"@context": {"a": {"@id": "x:y#"}}, "a:b": 1}, id="prefix"),
        pytest.param({"@context": {"a/b": {"@type": "@id"}}}, id="slash"),
        pytest.param({"@context": {"a": {"@type": "@json"}}}, id="json"),
        pytest.param({"@context": {"a": {"@container": "@type"}}}, id="type map"),
        pytest.param({"http://p.example/": {"@list": "x"}}, id="list"),
        pytest.param({"http://p.example/": {"@set": None}}, id="set"),
        pytest.param({"@context": {"l": "@list"}, "a:b": {"l": 1}}, id="list alias"),
        pytest.param({"http://p.example/%zz": {"a:b": 1}}, id="no IRI"),
        pytest.param({"@included": {"@type": "http://t.example/"}}, id="included"),
        pytest.param({"undefined": {"@type": "http://t.example/"}}, id="no vocabulary"),
        pytest.param(
            [{"@context": {"@vocab": "http://v.example/"}}, {"a": {"@type": "x:T"}}],
            id="vocabulary elsewhere",
        ),
        pytest.param(
            {
                "@context": {"@vocab": "http://v.example/"},
                "a": {"@context": None, "b": {"@type": "http://t.example/"}},
            },
            id="vocabulary taken back",
        ),
        pytest.param(
            {
                "@context": {
                    "@vocab": "http://v.example/",
                    "a": {"@context": {"@vocab": None}},
                },
                "a": {"b": {"@type": "http://t.example/"}},
            },
            id="vocabulary taken back by a term",
        ),
        pytest.param(
            {"@context": {"a": None}, "a": {"@type": "http://t.example/"}},
            id="term of nothing",
        ),
        pytest.param(
            {"@context": {"a": {"@id": "b"}}, "a": {"@type": "http://t.example/"}},
            id="term of a relative IRI",
        ),
        pytest.param(
            {
                "@context": {
                    "@language": "de",
                    "a": {"@id": "http://p.example/", "@type": "@none"},
                },
                "a": "x",
            },
            id="default language without a type",
        ),
        pytest.param({"http://p.example/": 10**18}, id="integer"),
        pytest.param({"http://p.example/": 1e400}, id="infinite"),
        pytest.param({"http://p.example/": -0.0}, id="minus zero"),
        pytest.param({"@graph": [], "a": 1}, id="graph that may be none"),
        pytest.param({"_:p": {"http://p.example/": 1}}, id="blank property"),
        pytest.param({"@context": {"g": "@graph"}, "g": []}, id="graph alias"),
        pytest.param({"@context": 5}, id="no context"),
        pytest.param({"@context": {"b": None}, "x:y": {"@id": "b"}}, id="null"),
        pytest.param({"x:y": {"@value": 1, "x:z": 2}}, id="value and node"),
        pytest.param({"x:y": {"@value": {"x:z": 2}}}, id="object as a value"),
        pytest.param({"@context": {"b": "c"}, "b": 1}, id="term without IRI"),
        pytest.param({"@nest": "x", "x:y": 1}, id="nest"),
    ],
)
def test_what_pyoxigraph_reads_otherwise_is_left(document: Any) -> None:
    """If pyoxigraph would read something else, then PyLD is used."""
    assert _fast(document, BASE, Contexts({})) is None


def test_keys_without_meaning_are_left_out() -> None:
    """If no context maps a key, then both ways leave it out, wherever it is."""
    value = {
        "@context": [{"name": "http://p.example/name"}, {"of": "http://p.example/of"}],
        "title": "x",
        "name": ["n", {"@value": "y"}, None],
        "of": [{"@id": "#a", "name": "m", "other": 2}, {"title": 1, "of": {"x/y": 1}}],
        "@reverse": {"of": {"other": "x", "name": "o"}},
    }
    whole = canonical(read_whole(value, base=BASE, contexts=Contexts({})))
    loader = ContextLoader(Contexts({}), document_url=BASE)
    blocks = fast_blocks(value, JsonLdReaderOptions(base=BASE, mends=False), loader)
    assert blocks is not None
    assert canonical(b"".join(blocks)) == whole


def test_lists_are_read_alike() -> None:
    """If lists have members that no rule drops, then both ways have the same cells."""
    members = ["a", 1, {"@id": "http://x.example/", "p": {"@list": ["b"]}}]
    node = {"p": {"@list": members}, "q": [{"@list": ["c"]}, {"@list": ["d"]}]}
    _assert_same({"@context": {"@vocab": "http://v.example/"}, "@graph": [node]})


@pytest.mark.parametrize("kind", ["@set", "@list"])
@pytest.mark.parametrize("container", ["@graph", ["@graph", "@id"]])
def test_graph_containers_do_not_end_the_process(kind: str, container: Any) -> None:
    """If a graph container may hold a set, where pyoxigraph panics, it is left."""
    context = {"g": {"@id": "http://g.example/", "@container": container}}
    document = {"@context": context, "g": {kind: ["x"]}}
    assert _fast(document, BASE, Contexts({})) is None
    assert _fast(CREDENTIAL, BASE, Contexts({})) is None


def test_many_objects_with_a_large_context_are_left() -> None:
    """If inlined contexts would take too much, then PyLD is used."""
    terms = {f"t{n}": f"http://t.example/{n}" for n in range(1000)}
    contexts = Contexts({"http://c.example/": {"@context": terms}})
    objects = [{"@context": "http://c.example/", f"t{n}": n} for n in range(1000)]
    assert _fast(objects, BASE, contexts) is None


def test_contexts_that_multiply_are_left() -> None:
    """If contexts name others often, each of which does, then that is not followed."""
    contexts = Contexts(
        {
            f"http://c.example/{n}": {"@context": [f"http://c.example/{n + 1}"] * 1000}
            for n in range(4)
        }
        | {"http://c.example/4": {"@context": {}}}
    )
    assert _fast({"@context": "http://c.example/0"}, BASE, contexts) is None


@pytest.mark.parametrize(
    "number", [9.95, 8.40975108949024, 48.208490000000005, 1e-7, -2.5e-300, 1e15, 7.0]
)
def test_numbers_are_written_alike(number: float) -> None:
    """If a number has a fraction, then it is written with the fewest unique digits."""
    double = "http://www.w3.org/2001/XMLSchema#double"
    _assert_same({"http://p.example/": [number, {"@value": number, "@type": double}]})


def _read(value: Any, *, is_fast: bool) -> tuple[set[str], set[Reason]] | None:
    """Return the statements of a document that is mended, and reasons of losses."""
    log = FaultLog()
    loader = ContextLoader(Contexts({}), document_url=BASE, log=log)
    options = JsonLdReaderOptions(base=BASE)
    if is_fast:
        blocks = fast_blocks(value, options, loader)
        if blocks is None:
            return None
    else:
        blocks = iter_checked(iter_statements(value, options, loader), log)
    lines = canonical(b"".join(blocks))
    # Parts without statements are mended, too, or are not.
    return lines, {fault.reason for fault in log.all()} - {Reason.REPAIRED}


_NAMES = st.sampled_from(
    ["name", "url", "@type", "@id", "ex:a", "Person", "image", "_:b", "x y", "@graph"]
)
_TEXTS = _NAMES | st.sampled_from(["http://a.example/", "", "#f", "en", "2026-01-01"])
_VALUES = st.recursive(
    _TEXTS | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_NAMES, inner, max_size=4)
        | st.fixed_dictionaries({"@list": st.lists(inner, max_size=2)})
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(st.dictionaries(_NAMES, _VALUES, max_size=5))
def test_any_document_is_read_alike(document: dict[str, Any]) -> None:
    """If both ways read a document made of known terms, then they agree."""
    value = {"@context": "https://schema.org", **document}
    lines = _fast(value, BASE, Contexts({}))
    with suppress(SourceFault):  # pyoxigraph refuses less than the standard
        whole = read_whole(value, base=BASE, contexts=Contexts({}))
        assert lines is None or canonical(lines) == canonical(whole)


_IRIS = st.sampled_from(
    ["http://p.example/a", "ex:b", "@id", "@type", "x:y", "rel", None]
)
_DEFINITIONS = _IRIS | st.fixed_dictionaries(
    {"@id": st.sampled_from(["ex:c", "ex:d e", "b"])},
    optional={
        "@type": st.sampled_from(["@id", "@vocab", "ex:date", "@none"]),
        "@language": st.sampled_from(["fr", "fr_FR", "", None]),
        "@container": st.sampled_from(["@set", "@list", "@language", "@index", "@id"]),
        "@context": st.just({"a": "ex:inner", "b": {"@id": "ex:t", "@type": "@id"}}),
    },
)
_LOCAL = st.fixed_dictionaries(
    {"ex": st.just("http://ex.example/")},
    optional={
        "@vocab": st.sampled_from(["http://v.example/", "x:", None]),
        "@language": st.sampled_from(["en", "en_US", "", None]),
        **dict.fromkeys(("a", "b", "kind"), _DEFINITIONS),
    },
)
_KEYS = st.sampled_from(["a", "b", "ex:b", "http://p.example/a b", "@type", "@x"])
_WRONG = st.sampled_from(
    ["", "a b", "@name", "_:b", "b", "ex:b", "http://a.example/ b"]
)
_MEMBERS = st.recursive(
    _WRONG
    | st.sampled_from([1, 1.5, True, None])
    | st.fixed_dictionaries(
        {"@value": _WRONG | st.just(1)},
        optional={"@language": st.sampled_from(["en_US", ""]), "x": st.just(1)},
    ),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(_KEYS, inner, max_size=3)
        | st.fixed_dictionaries({"@list": st.lists(inner, max_size=2)})
    ),
    max_leaves=8,
)


@settings(max_examples=examples(600), deadline=None)
@given(_LOCAL, st.dictionaries(_KEYS, _MEMBERS, min_size=1, max_size=4))
def test_documents_with_errors_are_mended_alike(
    context: dict[str, Any], document: dict[str, Any]
) -> None:
    """If the fast reader takes a document with errors, then it mends it like PyLD."""
    value = {"@context": context, **document}
    fast = _read(json.loads(json.dumps(value)), is_fast=True)
    assert fast is None or fast == _read(value, is_fast=False)
