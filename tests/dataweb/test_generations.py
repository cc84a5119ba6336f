"""The web as it changes: differences of its next generation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import WebConfig, parse_weights
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.dereferencing import resource_path
from rdfcrawl.dataweb.web import DataWeb, build_web

SEVERAL = WebConfig(
    n_nodes=8,
    triples=500,
    port=8085,
    weights=parse_weights("deref=5,dump=2,sparql=1"),
)


def documents(web: DataWeb) -> dict[str, tuple[int, bytes]]:
    """Return status and body of each resource of the dereferencing nodes."""
    found: dict[str, tuple[int, bytes]] = {}
    for node in web.nodes:
        for k in range(300 if node.plan.kind == "deref" else 0):
            path = resource_path(k)
            asked = NodeRequest("GET", path, accept="application/n-triples")
            response = node.respond(asked)
            if response.status != 404:
                found[node.plan.origin + path] = response.status, response.body
    return found


def reached(web: DataWeb) -> set[str]:
    """Return the subjects that can be reached from the seeds."""
    links: dict[str, list[str]] = {}
    for line in web.iter_truth():
        subject, _, target, _ = line.split(maxsplit=3)
        links.setdefault(subject[1:-1], []).append(target[1:-1])
    seen, queue = set(web.seeds), list(web.seeds)
    # The endpoint of a SPARQL node stands for its contents.
    queue += [subject for subject in links if "/data/" in subject]
    while queue:
        for target in links.get(queue.pop(), []):
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


@pytest.mark.parametrize("generation", [1, 4])
def test_next_generation_changes_as_many_documents_as_it_says(generation: int) -> None:
    """If a web changes, a tenth is different, a twentieth gone, a twentieth new."""
    before = documents(build_web(replace(SEVERAL, generation=generation - 1)))
    after = documents(build_web(replace(SEVERAL, generation=generation)))
    there = {url for url, (status, _) in before.items() if status == 200}
    gone = {url for url in there if after[url][0] == 410}
    changed = {url for url in there - gone if after[url] != before[url]}
    n_there = len(there)
    assert n_there >= 400
    assert len(gone) == pytest.approx(0.05 * n_there, abs=3)
    assert len(changed) == pytest.approx(0.10 * n_there, abs=4)
    assert len(after.keys() - before.keys()) == pytest.approx(0.05 * n_there, abs=3)


def test_all_that_is_there_can_be_reached_in_every_generation() -> None:
    """If a web has changed often, its seeds stay and lead to every document."""
    first = build_web(SEVERAL)
    for generation in (1, 7):
        web = build_web(replace(SEVERAL, generation=generation))
        assert web.seeds == first.seeds
        there = {url for url, (status, _) in documents(web).items() if status == 200}
        assert there <= reached(web)


def test_equal_generations_are_equal() -> None:
    """If a generation is made twice, both are equal, and the first is as ever."""
    later = replace(SEVERAL, generation=2)
    assert [*build_web(later).iter_truth()] == [*build_web(later).iter_truth()]
    assert [*build_web(later).iter_truth()] != [*build_web(SEVERAL).iter_truth()]


def test_generation_out_of_range_is_refused() -> None:
    """If a generation is negative, then the message names it."""
    with pytest.raises(ConfigError, match="generation is -1"):
        WebConfig(generation=-1)
