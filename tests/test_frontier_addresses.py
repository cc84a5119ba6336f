"""Addresses of hosts, as politeness keys."""

from __future__ import annotations

import pytest

from rdfcrawl.frontier.addresses import AddressBook


@pytest.mark.parametrize(
    "host",
    ["a" * 64 + ".example", "a..example", "no-such-host.invalid"],
    ids=["label too long", "label empty", "unknown"],
)
async def test_a_host_without_address_harms_no_other(host: str) -> None:
    """If DNS cannot know a host, then it has no address, and others have theirs."""
    book = AddressBook()
    await book.prime([f"http://{host}/", "http://127.0.0.1:8/"])
    assert book.address(host) is None
    assert book.address("127.0.0.1") == "127.0.0.1"
