"""Logs and frontier of the crawl of `bench_page`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.namespaces import DCTERMS, RDF_TYPE, VOID
from rdfcrawl.core.records import Record
from rdfcrawl.frontier.redis.embedded import program_version
from rdfcrawl.stores.nquads import DECISION_IRI, NQuadsStore, document_mark
from rdfcrawl.stores.segments import QuadSegments
from tests.support.described_documents import block_of, document
from tests.support.frontier_state import candidates
from tests.support.redis_fixtures import frontier_on
from tests.support.written_logs import put

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.core.records import Document
    from tests.support.redis_fixtures import RedisServer

CRAWL: Final = "c"
PARTITIONS: Final = 16
HUB: Final = "http://hub.example/vocabulary"
"""All descriptions of datasets link there."""
REFUSED: Final = "http://refused.example/private/1"
"""Was found, and not queued for its robots rules."""
_A_MEMBER: Final = 500  # documents
_WORKERS: Final = 4
_FIRST_MS: Final = 1_790_000_000_000


def host_of(number: int) -> str:
    """Return the name of a host: some registered domains have many."""
    return f"h{number}.site{number % 20_011}.example"


def uri_of(number: int, n_hosts: int) -> str:
    """Return the URI of a document; some hosts have many more than others."""
    host = number % n_hosts if number % 4 else number % max(1, n_hosts // 1000)
    return f"http://{host_of(host)}/resource/{number}"


def crawled(number: int, n_hosts: int) -> Document:
    """Return a document as a crawl leaves it; every tenth has a fault."""
    started = _FIRST_MS + 20 * number
    faults = (Fault(Reason.EMPTY, "nothing in it"),) if number % 10 == 3 else ()
    parent = uri_of(number // 7, n_hosts) if number else ""
    return document(
        record=Record(url=uri_of(number, n_hosts), depth=2, parent=parent),
        started_ms=started,
        ended_ms=started + 5 + number % 90,
        n_quads=0 if faults else 9,
        faults=faults,
    )


async def write_logs(root: Path, n_documents: int, n_hosts: int) -> None:
    """Write the logs of some workers, with two statements and links a document."""
    for worker in range(_WORKERS):
        name = f"w{worker}"
        store = NQuadsStore(root / "quads", name)
        await store.open()
        logs = {
            "provenance": QuadSegments(root / "provenance", name, form="jsonl"),
            "links": QuadSegments(root / "links", name, form="txt"),
        }
        numbers = range(worker, n_documents, _WORKERS)
        for position, number in enumerate(numbers, 1):
            each = crawled(number, n_hosts)
            logs["provenance"].write_document(block_of(each))
            target = uri_of(number * 7 % n_documents, n_hosts)
            await put(
                store, each.url, each.response.started_ms, _quads(each.url, target)
            )
            mark = document_mark(each.url, each.response.started_ms)
            logs["links"].write_document(mark + f"<urn:p> <{target}>\n".encode())
            if position % _A_MEMBER == 0:
                await store.flush()
                for log in logs.values():
                    await log.flush(sync=False)
        await store.close()
        for log in logs.values():
            await log.close()


def _quads(url: str, target: str) -> bytes:
    return (
        f'<{url}> <http://www.w3.org/2000/01/rdf-schema#label> "a" <{url}> .\n'
        f"<{url}> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <{target}> <{url}> .\n"
    ).encode()


async def fill_frontier(server: RedisServer, program: str, n_hosts: int) -> None:
    """Queue one to three URIs of each host."""
    redis = server.client()
    version = program_version(program) or ()
    frontier = frontier_on(redis, version, crawl_id=CRAWL, partitions=PARTITIONS)
    await frontier.open()
    choose = random.Random(1)
    for start in range(0, n_hosts, 2000):
        urls = [
            f"http://{host_of(number)}/queued/{n}"
            for number in range(start, min(n_hosts, start + 2000))
            for n in range(choose.randint(1, 3))
        ]
        await frontier.add(candidates(frontier, urls))
    await redis.aclose()


def dataset_of(number: int) -> str:
    """Return the name of a dataset."""
    return f"http://{host_of(number)}/dataset/{number}"


async def write_datasets(root: Path, n_datasets: int) -> None:
    """Write descriptions of datasets with links to a hub, and URIs that are refused."""
    store = NQuadsStore(root / "quads", "w4")
    await store.open()
    logs = {kind: QuadSegments(root / kind, "w4") for kind in ("links", "decisions")}
    for number in range(n_datasets):
        url, ms = f"http://{host_of(number)}/void", _FIRST_MS + number
        await put(store, url, ms, _description(dataset_of(number), url, number))
        mark = document_mark(url, ms)
        logs["links"].write_document(mark + f"<urn:p> <{HUB}>\n".encode())
        refused = REFUSED if number % 100 == 0 else f"{REFUSED}/{number}"
        decision = f"<{refused}> <{DECISION_IRI}robots>\n".encode()
        logs["decisions"].write_document(mark + decision)
        if number % _A_MEMBER == 0:
            await store.flush()
            for log in logs.values():
                await log.flush(sync=False)
    await store.close()
    for log in logs.values():
        await log.close()


def _description(name: str, url: str, number: int) -> bytes:
    said = (
        f"<{RDF_TYPE}> <{VOID}Dataset>",
        f'<{DCTERMS}title> "Data of host {number}"',
        f"<{DCTERMS}license> <http://licences.example/{number % 7}>",
        f'<{DCTERMS}modified> "20{10 + number % 16}-01-02"',
        f'<{VOID}triples> "{number * 7919 % 1_000_003}"',
        f"<{VOID}dataDump> <{name}.nt.gz>",
    )
    return "".join(f"<{name}> {each} <{url}> .\n" for each in said).encode()
