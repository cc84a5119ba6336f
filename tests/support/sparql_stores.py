"""Statements to fill stores with: blank nodes of all shapes, languages, datatypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_VALUES = (
    '"café \\"{n}\\" a\\\\b"@fr',
    '"日本{n}"@ja',
    '"en{n}"@en',
    f'"{{n}}"^^<{XSD}integer>',
    f'"true"^^<{XSD}boolean>',
    f'"2020-01-{{day:02d}}"^^<{XSD}date>',
    '"{n}"^^<http://example.org/own>',
    '"line\\nbreak\\ttab {n}"',
    '""',
    f'"2001-01-01T10:00:{{day:02d}}Z"^^<{XSD}dateTime>',
)


def iter_store(
    n_items: int, *, with_default: bool, n_graphs: int = 60
) -> Iterator[str]:
    """Yield N-Quads lines, about eleven for each item.

    Args:
        n_items: resources of the largest graph.
        with_default: some are in the default graph, else all in named ones.
        n_graphs: with one statement each.
    """
    large, small = "http://example.org/graph/large", "http://example.org/graph/small"
    rest = "" if with_default else "http://example.org/graph/rest"
    yield from _items(large, n_items)
    yield from _knots(large, max(3, n_items // 50))
    yield from _knots(small, 3)
    yield from _hub(small, 450)
    yield from _items(rest, n_items // 20)
    yield from _knots(rest, 2)
    for n in range(n_graphs):  # a graph for each document, as crawlers leave them
        yield _line(f"<http://example.org/d/{n}>", "p/0", f'"{n}"', f"http://d.org/{n}")
    # A character that XML has not.
    yield _line("<http://example.org/x>", "p/name", '"vertical\\u000Btab"', small)
    # One blank node in two graphs.
    yield _line("<http://example.org/x>", "p/knows", "_:shared", small)
    yield _line("_:shared", "p/name", '"shared"', large)


def _line(subject: str, name: str, obj: str, graph: str) -> str:
    predicate = name if name.startswith("<") else f"<http://example.org/{name}>"
    return f"{subject} {predicate} {obj} {f'<{graph}> ' if graph else ''}.\n"


def _items(graph: str, n_items: int) -> Iterator[str]:
    for n in range(n_items):
        first = "é" if n % 7 == 0 else ""
        item = f"<http://example.org/item/{first}{n * 7919 % 9973}-{n}>"
        yield _line(item, TYPE, f"<http://example.org/class/{n % 5}>", graph)
        yield _line(item, "p/next", f"<http://example.org/item/{n + 1}>", graph)
        for i in range(5):
            value = _VALUES[(n + i) % len(_VALUES)]
            yield _line(item, f"p/{i}", value.format(n=n, day=n % 28 + 1), graph)
        if n % 3 == 0:
            address = f"_:a{graph.rpartition('/')[2]}x{n}"
            yield _line(item, "p/address", address, graph)
            yield _line(address, "p/street", f'"street {n}"', graph)
            yield _line(address, "p/near", item, graph)


def _knots(graph: str, n_knots: int) -> Iterator[str]:
    """Chains, shared nodes, cycles, and statements without any IRI around."""
    for n in range(n_knots):
        at = f"_:k{graph.rpartition('/')[2]}x{n}x"
        root = f"<http://example.org/root/{n}>"
        yield _line(root, "p/list", f"{at}0", graph)
        for i in range(6):
            yield _line(f"{at}{i}", "p/first", f'"{n} {i}"', graph)
            yield _line(f"{at}{i}", "p/rest", f"{at}{i + 1}", graph)
        yield _line(f"<http://example.org/other/{n}>", "p/knows", f"{at}3", graph)
        for one, other in (("c", "d"), ("d", "e"), ("e", "c")):
            yield _line(f"{at}{one}", "p/knows", f"{at}{other}", graph)
            yield _line(f"{at}{one}", "p/name", f'"{one} {n}"', graph)
        yield _line(f"{at}z", TYPE, "<http://example.org/class/alone>", graph)
        yield _line(f"{at}z", "p/name", f'"alone {n}"', graph)
        yield _line(f"{at}z", "p/knows", f"{at}z", graph)


def _hub(graph: str, n_spokes: int) -> Iterator[str]:
    """One subject, and one blank node, with more triples than a page."""
    hub = "<http://example.org/hub>"
    for n in range(n_spokes):
        yield _line(hub, "p/spoke", f"<http://example.org/spoke/{n}>", graph)
        yield _line("_:hub", "p/spoke", f'"{n}"@en', graph)
    for language in ("en", "de", "fr", "es"):
        yield _line(hub, "p/name", f'"hub"@{language}', graph)
    yield _line(hub, "p/knows", "_:hub", graph)


def canonical(document: bytes) -> set[str]:
    """Return the statements of a document with canonical blank nodes."""
    dataset = Dataset(parse(document, RdfFormat.N_QUADS))
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


def iter_catalog(n_datasets: int, graph: str) -> Iterator[str]:
    """Yield a catalog of datasets; statements with `unrelated` are not about them."""
    dcat, dct = "http://www.w3.org/ns/dcat#", "http://purl.org/dc/terms/"
    catalog, agent = "<http://example.org/catalog>", "<http://example.org/agent>"
    yield _line(catalog, TYPE, f"<{dcat}Catalog>", graph)
    yield _line(catalog, f"<{dct}title>", '"Catalog"@en', graph)
    yield _line(agent, "p/name", '"Agent"', graph)
    yield _line("<http://example.org/unrelated>", "p/name", '"unrelated"', graph)
    for n in range(n_datasets):
        dataset = f"<http://example.org/dataset/{n}>" if n % 10 else f"_:dataset{n}"
        yield _line(catalog, f"<{dcat}dataset>", dataset, graph)
        yield _line(dataset, TYPE, f"<{dcat}Dataset>", graph)
        yield _line(dataset, f"<{dct}title>", f'"Dataset {n}"@en', graph)
        yield _line(dataset, f"<{dct}publisher>", agent, graph)
        yield _line(dataset, f"<{dcat}contactPoint>", f"_:contact{n}", graph)
        yield _line(f"_:contact{n}", "p/mail", f"<mailto:{n}@example.org>", graph)
        yield _line(f"_:contact{n}", "p/address", f"_:place{n}", graph)
        yield _line(f"_:place{n}", "p/street", f'"Street {n}"', graph)
        for i in range(3):
            file = f"<http://example.org/dataset/{n}/{i}>"
            yield _line(dataset, f"<{dcat}distribution>", file, graph)
            url = f"<http://example.org/files/{n}/{i}.ttl>"
            yield _line(file, f"<{dcat}downloadURL>", url, graph)
            yield _line(file, "p/checksum", f"_:sum{n}x{i}", graph)
            yield _line(f"_:sum{n}x{i}", "p/value", f'"{n}{i}"', graph)
