"""Items as rows of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, Final

MAX_COLUMNS: Final = 1_000
"""Columns of a table, without `MORE`."""

MORE: Final = "@more"
"""Column of values that are in no other column, as JSON."""

_SPOOL_BYTES: Final = 4 * 2**20
_FIRST: Final = ("@id", "@type", "@source")


def flat(item: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield column and text of each value of an item.

    A nested item has columns with a dot. Several values, and lists, are JSON.

    >>> dict(flat({"name": "Saw", "offers": {"price": 9.5}, "image": ["a", "b"]}))
    {'name': 'Saw', 'offers.price': '9.5', 'image': '["a", "b"]'}
    """
    for key, value in item.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        elif value is not None:
            is_text = isinstance(value, str)
            yield f"{prefix}{key}", value if is_text else as_json(value)


def as_json(value: Any) -> str:
    """Return JSON; other values, such as times, as text."""
    return json.dumps(value, ensure_ascii=False, default=str)


class ItemTable:
    """Rows of items, in a temporary file until all columns are known.

    Args:
        folder: of the temporary file; None for that of the system.
        columns: the only ones, with their headings; without them, those of all items,
            in their alphabetical order behind `@id`, `@type` and `@source`.
    """

    def __init__(
        self, folder: Path | None = None, columns: Mapping[str, str] | None = None
    ) -> None:
        self._given = columns
        self._columns: dict[str, None] = dict.fromkeys(columns or ())
        self._has_more = False
        place = None if folder is None else str(folder)
        self._rows = SpooledTemporaryFile(_SPOOL_BYTES, dir=place)  # noqa: SIM115

    def add(self, item: Mapping[str, Any]) -> None:
        """Add a row."""
        row: dict[str, str] = {}
        more: dict[str, str] = {}
        for column, text in flat(item):
            if column not in self._columns and self._given is None:
                if len(self._columns) >= MAX_COLUMNS:
                    more[column] = text
                    continue
                self._columns[column] = None
            row[column] = text
        if more:
            self._has_more = True
            row[MORE] = as_json(more)
        self._rows.write(f"{as_json(row)}\n".encode())

    def pieces(self) -> Iterator[bytes]:
        """Yield the table as CSV (RFC 4180) with a header; then delete the file."""
        columns = self._given or {each: each for each in self._sorted()}
        with self._rows as file:
            file.seek(0)
            if columns:
                yield _line(columns.values())
            for line in file:
                row = json.loads(line)
                yield _line(row.get(column, "") for column in columns)

    def close(self) -> None:
        """Delete the temporary file."""
        self._rows.close()

    def _sorted(self) -> list[str]:
        rest = sorted(self._columns.keys() - {*_FIRST})
        first = [each for each in _FIRST if each in self._columns]
        return [*first, *rest, *([MORE] if self._has_more else [])]


def _line(values: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue().encode()
