"""Sites of generated documents, the same in each run: URL to media type and body."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.bench.documents.pages import page
from tests.bench.documents.resources import Iri, resource
from tests.bench.documents.server import host
from tests.bench.documents.writers import write_json_ld, write_rdf_xml, write_turtle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.bench.documents.resources import Node
    from tests.bench.documents.server import Documents

SYNTAXES: Final[dict[str, Callable[[Iterable[Node]], Iterator[str]]]] = {
    "text/turtle": write_turtle,
    "application/rdf+xml": write_rdf_xml,
    "application/ld+json": write_json_ld,
}


def linked_data(
    port: int, media_type: str, *, n_hosts: int = 20, a_host: int = 100
) -> Documents:
    """Return documents of 2 to 20 KB.

    The first document of a host leads to all others of it. Most links are to documents
    of the same host, others to further hosts, and a few to other sites.
    """
    rng = random.Random(f"{media_type} {n_hosts} {a_host}")
    write = SYNTAXES[media_type]
    documents: Documents = {}
    for number in range(n_hosts):
        base = host(number, port)

        def link(base: str = base) -> str:
            at = base if rng.random() < 0.8 else host(rng.randrange(n_hosts), port)
            return f"{at}/id/{rng.randrange(a_host)}"

        for n in range(a_host):
            next_ones = [f"{base}/id/{i}" for i in (2 * n + 1, 2 * n + 2) if i < a_host]
            nodes = _document(rng, f"{base}/id/{n}", link, next_ones)
            documents[f"{base}/id/{n}"] = media_type, "".join(write(nodes)).encode()
    return documents


def _document(
    rng: random.Random, url: str, link: Callable[[], str], next_ones: list[str]
) -> list[Node]:
    """Return the resources of a document: the one it is named after, and its parts."""
    n_parts = round(2 ** rng.uniform(0.8, 4))
    first, *parts = (
        resource(rng, f"{url}#{number}" if number else url, link)
        for number in range(n_parts)
    )
    more = (("rdfs:seeAlso", Iri(each)) for each in next_ones)
    return [replace(first, properties=(*first.properties, *more)), *parts]


def web_pages(port: int, form: str, n_pages: int = 120, n_hosts: int = 10) -> Documents:
    """Return HTML pages of one form of annotation, on several hosts."""
    return {
        f"{host(number % n_hosts, port)}/page/{number}": (
            "text/html; charset=utf-8",
            page(number, form),
        )
        for number in range(n_pages)
    }
