"""Keys, counts and fingerprints of the rows of a page."""

from __future__ import annotations

from hashlib import blake2b

from rdfcrawl.rdf.output import without_labels


class PageEnd:
    """Keys and counts of the rows of a page, collected during reading."""

    def __init__(self, *, has_names: bool = False) -> None:
        self._has_names = has_names  # labels are those of the endpoint
        self.n_rows = self.n_last = 0
        self.key = self.before_last = self.first = ""
        self.graphs = set[str]()  # of a response with several
        self.is_sorted = True
        self._first_line = self._last_line = ""

    def add(self, key: str, line: str, graph: str = "") -> None:
        """Count a row: its key, its statement and its graph, if it has a column."""
        if graph:
            self.graphs.add(graph)
        self._first_line = self._first_line or line
        self._last_line = line
        if self.n_rows and key == self.key:
            self.n_last += 1
        else:
            if self.n_rows:
                self.is_sorted &= comes_before(self.key, key)
                self.before_last = self.key
            else:
                self.first = key
            self.key, self.n_last = key, 1
        self.n_rows += 1

    @property
    def mark(self) -> str:
        """Fingerprint, to recognize a repeated page."""
        seen = (self._first_line + self._last_line).encode()
        if not self._has_names:
            seen = without_labels(seen)
        return blake2b(b"%d %s" % (self.n_rows, seen), digest_size=6).hexdigest()

    @property
    def first_row(self) -> str:
        """Fingerprint of the first row; empty if another response has other labels."""
        return self._fingerprint(self._first_line)

    @property
    def last_row(self) -> str:
        """The same of the last row."""
        return self._fingerprint(self._last_line)

    def _fingerprint(self, line: str) -> str:
        row = line.encode()
        if not self._has_names and without_labels(row) != row:
            return ""
        return blake2b(row, digest_size=6).hexdigest()


def comes_before(first: str, second: str) -> bool:
    """Return whether a key is before another one in the order of any endpoint."""
    if first < second:
        return True
    # Java sorts by UTF-16 units.
    utf16 = ("utf-16-be", "surrogatepass")
    return first.encode(*utf16) < second.encode(*utf16)
