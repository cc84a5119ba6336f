"""Documents of links (RFC 9264): text and JSON, good and damaged."""

from __future__ import annotations

import gzip

import pytest
from scrapy.http import Response

from rdfcrawl import extract

# One event loop for all: child processes live as long as theirs.
pytestmark = pytest.mark.asyncio(loop_scope="module")
TEXT, JSON = "application/linkset", "application/linkset+json"
ONE = '"describedby":[{"href":"m.ttl"}]'
SET = f'{{"linkset":[{{{ONE}}}]}}'
M = ["m.ttl"]
CASES = [
    ("no-anchor", JSON, SET, M, {}),
    ("parameters-of-charset", f"{JSON}; charset=utf-8", SET, M, {}),
    ("byte-order-mark", JSON, "\ufeff" + SET, M, {}),
    ("named-as-json", "application/json", SET, M, {}),
    ("json-as-text", TEXT, SET, M, {}),
    ("text-as-json", JSON, "<m.ttl>; rel=describedby", M, {}),
    ("empty", JSON, '{"linkset":[]}', [], {}),
    (
        "targets-and-attributes",
        JSON,
        (
            '{"linkset":[{"anchor":"http://b.example/x","describedby":[{"href":"m.ttl"},'
            '{"href":"n.ttl","type":"text/turtle","hreflang":["en","de"],'
            '"title*":[{"value":"x","language":"de"}],"foo":["bar"]}]},'
            '{"anchor":"/y","alternate":[{"href":"b.nt","type":"application/n-triples"},'
            '{"href":"b.html","type":"text/html"}],"item":[{"href":"item.csv"}]}]}'
        ),
        ["b.nt", "m.ttl", "n.ttl"],
        {},
    ),
    (
        "bad-members",
        JSON,
        (
            f'{{"linkset":[5,{{{ONE}}},{{"describedby":[null,{{"href":5}},'
            '{"href":"http://[bad"},{"type":"x"},{"href":"ok.ttl"}]}]}'
        ),
        ["m.ttl", "ok.ttl"],
        {"syntax": 4, "bad_uri": 1},
    ),
    (
        "no-arrays",
        JSON,
        '{"linkset":{"describedby":{"href":"m.ttl"},"linkset":["z"]}}',
        ["m.ttl", "z"],
        {"repaired": 3},
    ),
    ("no-object", JSON, f"[{{{ONE}}}]", M, {}),
    ("commas", JSON, f'{{"linkset":[{{{ONE},}},]}}', M, {"repaired": 2}),
    ("cut", JSON, f'{{"linkset":[{{{ONE}}},{{"next":[{{"href', M, {"syntax": 1}),
    ("other-json", JSON, '{"x":[]}', [], {"syntax": 1}),
    ("a-page", JSON, "<html><body>none</body></html>", [], {}),
    (
        "lines",
        TEXT,
        (
            '<m.ttl>\n ; rel="describedby"\n ; type="text/turtle"\n'
            ' ; anchor="http://b.example/" \n, <n.ttl>;rel=linkset\r\n'
        ),
        ["m.ttl", "n.ttl"],
        {},
    ),
    ("others", TEXT, '<m.ttl>; rel="author describedby", </z>; rel=author', M, {}),
    (
        "bad-text",
        TEXT,
        "junk <m.ttl>; rel=describedby, <x>, <http://[b>; rel=next, rest",
        M,
        {"syntax": 3, "bad_uri": 1},
    ),
    ("no-links", TEXT, "nothing here", [], {"syntax": 1}),
    ("element", TEXT, '<a>; rel="describedby"', ["a"], {}),
    ("root", TEXT, '<x>;rel="license next", <y>; rel="item"', ["x"], {}),
    (
        "page-as-set",
        TEXT,
        '<html><link rel="describedby" href="m.ttl"><p vocab="http://v.example/"',
        M,
        {"repaired": 1},
    ),
]


@pytest.mark.parametrize(
    ("media_type", "body", "links", "faults"),
    [pytest.param(*case, id=name) for name, *case in CASES],
)
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
async def test_links_of_a_set_are_found_and_damage_costs_itself(
    media_type: str,
    body: str,
    links: list[str],
    faults: dict[str, int],
    *,
    is_packed: bool,
) -> None:
    """If a document is a set of links, then `extract` finds them."""
    content = body.encode()
    response = Response(
        "http://a.example/d/set",
        headers={"Content-Type": media_type},
        body=gzip.compress(content) if is_packed else content,
    )

    with await extract(response) as found:
        counts = {fault.reason.value: fault.count for fault in found.faults}
        assert sorted(found.links) == [f"http://a.example/d/{each}" for each in links]
        assert counts == faults


async def test_a_set_that_is_json_ld_has_statements_and_links() -> None:
    """If a set of links has a context, then its statements are read as well."""
    body = (
        '{"@context":{"linkset":"http://v.example/l","href":"@id",'
        '"describedby":{"@id":"http://v.example/d","@type":"@id"}},'
        f"{SET[1:]}"
    )
    response = Response(
        "http://a.example/d/set", headers={"Content-Type": JSON}, body=body.encode()
    )

    with await extract(response) as found:
        assert found.links == ("http://a.example/d/m.ttl",)
        lines = found.nquads().read()
    assert b"<http://v.example/d> <http://a.example/d/m.ttl>" in lines
