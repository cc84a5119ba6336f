"""Responses to queries on a terminal."""

from __future__ import annotations

import os
import pty
import threading

import pyoxigraph as ox
import pytest

from rdfcrawl.core.messages import safe_file
from rdfcrawl.stores.followers.query import write_result

NASTY = "a\x1b[2Jb\x1b]8;;http://x/\x07c\x9bd\u202ee\rf\x7fg"


@pytest.mark.parametrize("name", ["table", "csv", "tsv", "json", "ttl", "nt"])
def test_control_characters_do_not_reach_a_terminal(name: str) -> None:
    """If a literal has control characters, then a terminal gets them escaped."""
    store = ox.Store()
    subject = ox.NamedNode("http://a.example/")
    store.add(ox.Quad(subject, subject, ox.Literal(NASTY)))
    is_graph = name in {"ttl", "nt"}
    query = "CONSTRUCT WHERE { ?s ?p ?o }" if is_graph else "SELECT * { ?s ?p ?o }"
    ours, theirs = pty.openpty()
    read: list[bytes] = []
    reading = threading.Thread(target=lambda: read.append(os.read(ours, 65_536)))
    reading.start()
    with os.fdopen(theirs, "w", encoding="utf-8", newline="\n") as file:
        write_result(store, query, safe_file(file), format_name=name)
        file.flush()
        reading.join(60)
    os.close(ours)
    text = read[0].decode().replace("\r\n", "\n").replace("\r\n", "\n")
    assert text.count("\n") >= 1
    assert not set(text) & set("\x1b\x07\x9b\u202e\x7f"), text
