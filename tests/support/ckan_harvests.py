"""Harvests of a CKAN portal in memory."""

from __future__ import annotations

from dataclasses import replace

from rdfcrawl.sources.ckan.api import PortalAddress
from tests.support.ckan_portals import FakePortal, Harvest, Memory

PORTAL = PortalAddress(url="https://data.example")


def harvest(fake: FakePortal, memory: Memory | None = None, **more: object) -> Harvest:
    """Return a harvest that is not begun."""
    one = Harvest(fake, PORTAL, memory if memory is not None else Memory())
    return replace(one, **more)  # type: ignore[arg-type]


def all_ids(fake: FakePortal) -> set[str]:
    """Return the ids of all datasets there are."""
    return {row[1] for row in fake.rows}
