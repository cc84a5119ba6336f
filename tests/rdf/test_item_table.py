"""Items as rows of a table."""

from __future__ import annotations

import csv
import json
from typing import Any

from rdfcrawl.rdf.items.table import MAX_COLUMNS, MORE, ItemTable


def rows(table: ItemTable) -> list[dict[str, str]]:
    """Return the rows of a table."""
    text = b"".join(table.pieces()).decode()
    return list(csv.DictReader(text.splitlines(keepends=True)))


def test_columns_beyond_the_bound_are_kept() -> None:
    """If items have very many properties, then the last ones are in one column."""
    table = ItemTable()
    table.add({"@id": "a", "n": {str(i): i for i in range(MAX_COLUMNS + 5)}})
    table.add({"@id": "b", "n": {"0": True, "other": [1, "x"]}})
    first, second = rows(table)
    assert len(first) == MAX_COLUMNS + 1
    assert list(first)[::MAX_COLUMNS] == ["@id", MORE]
    assert json.loads(first[MORE]) == {
        f"n.{i}": str(i) for i in range(MAX_COLUMNS - 1, MAX_COLUMNS + 5)
    }
    assert (second["n.0"], json.loads(second[MORE])) == (
        "true",
        {"n.other": '[1, "x"]'},
    )


def test_texts_are_quoted() -> None:
    """If a text has quotes, commas or line breaks, then readers of CSV get it back."""
    item: dict[str, Any] = {
        "@id": 'a"b',
        "name": "c,d\ne\r\nf",
        "empty": {},
        "none": None,
    }
    table = ItemTable()
    table.add(item)
    assert rows(table) == [{"@id": 'a"b', "empty": "{}", "name": "c,d\ne\r\nf"}]
    assert list(ItemTable().pieces()) == []
