"""Running exporters and their output."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

from prometheus_client.parser import text_string_to_metric_families

from tests.support.sparql_services import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
open_directly = partial(build_opener(ProxyHandler({})).open, timeout=30)


@contextmanager
def exporting(commands: Commands, **settings: Any) -> Iterator[str]:
    """Yield the address of an exporter that runs meanwhile."""
    port = free_port()
    running = commands.start("frontier", "exporter", f"--port={port}", **settings)
    url = f"http://127.0.0.1:{port}/metrics"
    commands.wait_until(lambda: running.has_ended() or _answers(url))
    assert not running.has_ended(), running.stderr
    yield url
    running.send(signal.SIGTERM)
    assert running.wait().code == 0


def _answers(url: str) -> bool:
    try:
        with open_directly(url):
            return True
    except OSError:
        return False


def samples(url: str) -> Samples:
    """Return all samples of one scrape, by name and labels."""
    with open_directly(url) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value
        for family in families
        for each in family.samples
    }


def total(found: Samples, name: str, **labels: str) -> float:
    """Return the sum of the samples of a name that have some labels."""
    wanted = set(labels.items())
    return sum(n for (of, has), n in found.items() if of == name and wanted <= {*has})
