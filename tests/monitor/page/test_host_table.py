"""The table of all hosts: filters, orders and pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rdfcrawl.monitor.operating.hosts import HostSummary, summary_of
from rdfcrawl.monitor.page.host_table import COLUMNS, HostChoice, HostTable


def summary(key: str, **fields: int) -> HostSummary:
    """Return the state of a host, by its fields in Redis."""
    texts = {name: str(value) for name, value in fields.items()}
    return summary_of(key, 0, texts, least_delay_ms=1000)


def figures(name: str, key: str = "", **sums: int) -> tuple[Any, ...]:
    """Return a row of sums."""
    names = ("n_documents", "n_statements", "n_bytes", "n_faulty", "last_ms")
    return (name, key or name, *(sums.get(each, 0) for each in names))


@pytest.fixture
def table() -> Iterator[HostTable]:
    """Return a table of four hosts, of which the frontier has three."""
    table = HostTable(is_grouped=True)
    table.put(
        [
            summary("a.example", n=3, d=5000, na=7),
            summary("b.example", n=1, p=1, ob=10, na=9),
            summary("c.example", f=2, ob=0),
        ],
        1,
    )
    table.put_figures(
        [
            figures("a.example", n_documents=1, n_faulty=1, last_ms=5),
            figures("b.example", n_documents=20, n_statements=3, n_bytes=4),
            figures("d.example", n_documents=4, last_ms=9),
        ]
    )
    assert table.end_sweep(1) == 3
    yield table
    table.close()


async def keys(table: HostTable, **choice: Any) -> str:
    """Return the first letters of the hosts of a choice."""
    _, _, hosts = await table.choose(HostChoice(**choice))
    return "".join(each.key[0] for each in hosts)


@pytest.mark.parametrize(
    ("sort", "down"),
    [
        ("name", "dcba"),
        ("documents", "bdac"),
        ("statements", "bacd"),
        ("bytes", "bacd"),
        ("faulty", "abcd"),
        ("last", "dabc"),
        ("queue", "abcd"),
        ("delay", "abcd"),
        ("next", "bacd"),
        ("refused", "cabd"),
        ("budget", "bcad"),
        ("phase", "abcd"),
    ],
)
async def test_each_column_sorts(table: HostTable, sort: str, down: str) -> None:
    """If hosts are sorted by a column, then names decide between equal ones."""
    assert await keys(table, sort=sort) == down
    _, n, hosts = await table.choose(HostChoice(sort=sort, is_down=False))
    assert n == 4
    assert sorted(each.key[0] for each in hosts) == list("abcd")


def test_columns_are_all_tried() -> None:
    """If there is a column, then the test above sorts by it."""
    (mark,) = test_each_column_sorts.pytestmark  # type: ignore[attr-defined]
    assert {sort for sort, _ in mark.args[1]} == set(COLUMNS)


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ({"text": "b.ex"}, "b"),
        ({"text": "example"}, "abcd"),
        ({"text": "%"}, ""),
        ({"text": "'"}, ""),
        ({"phase": "ready"}, "a"),
        ({"phase": "paused"}, "b"),
        ({"phase": "idle"}, "c"),
        ({"is_faulty": True}, "ac"),
        ({"is_faulty": True, "phase": "ready", "text": "c"}, ""),
    ],
)
async def test_filters_hold_together(
    table: HostTable, choice: dict[str, Any], found: str
) -> None:
    """If several filters are set, then hosts are shown for which all hold."""
    assert await keys(table, sort="name", is_down=False, **choice) == found


async def test_pages_have_each_host_once(table: HostTable) -> None:
    """If one page after another is requested, then each host is on one of them.

    A page beyond the end is the last one.
    """
    choice = HostChoice(sort="queue", most=3)
    for first, begin, found in ((0, 0, "abc"), (3, 3, "d"), (6, 3, "d"), (99, 3, "d")):
        page, n, hosts = await table.choose(replace(choice, first=first))
        assert (page.first, n) == (begin, 4)
        assert "".join(each.key[0] for each in hosts) == found


async def test_host_that_left_the_frontier_keeps_its_figures(
    table: HostTable,
) -> None:
    """If the frontier has lost a host, then only its fetched documents are shown."""
    table.put([summary("c.example")], 2)
    assert table.end_sweep(2) == 1
    _, _, hosts = await table.choose(HostChoice(text="b.example"))
    assert (hosts[0].phase, hosts[0].budget, hosts[0].delay_ms) == ("", None, None)
    assert (hosts[0].n_queued, hosts[0].n_documents) == (0, 20)


async def test_key_has_the_sums_of_its_hosts() -> None:
    """If a key stands for several hosts, then it has their sums, and they are known."""
    table = HostTable(is_grouped=True)
    table.put_figures([figures("x.a.example", "a.example", n_documents=2, last_ms=1)])
    table.put_figures([figures("y.a.example", "a.example", n_documents=3, last_ms=8)])
    table.put_figures([figures("x.a.example", "a.example", n_documents=4, last_ms=1)])
    _, n, (host,) = await table.choose(HostChoice())
    assert (n, host.key, host.n_documents, host.last_ms) == (1, "a.example", 7, 8)
    assert await table.names_of("a.example", 9) == ["x.a.example", "y.a.example"]
    assert await table.names_of("a.example", 1) == ["x.a.example"]
    table.close()
