"""Label blank nodes by the URL of their document and their order.

The parser keeps labels of the document, which clash between documents, and assigns
random ones to unlabelled nodes, which differ in every crawl. Here the n-th blank node
of a document is `_:b<hash of its URL>n<n>`, so an unchanged document results in
unchanged bytes.
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import blake2b

# Nodes numbered per document, in about 60 MB. Later nodes are named by a hash of their
# label from the parser: equal labels stay equal, but nodes without label in the
# document then differ between crawls.
MAX_NUMBERED = 2**18

# Literals of canonical N-Quads contain no line break, so a blank node is found by
# its position in the line: a subject at the beginning; object and graph at the end, not
# followed by a quotation mark, unlike a label in a literal: `"see _:b"@en .`,
# `"_:b <c"^^<http://d> .` The constant prefix `_:` comes first to speed up the search.
_LABEL = re.compile(
    rb"(_:(?:(?<=\n_:)[^ \n]++(?= )"
    rb"|(?<= _:)[^ \"\n]++(?= (?:<[^ \"<>\n]*+> |_:[^ \"\n]++ )?\.\n)))"
)
# Triple terms contain labels anywhere: skip literals and IRIs.
_TOKEN = re.compile(
    rb'("(?>[^"\\\n]++|\\.)*+"|\\.|<[^<> \n]*+>)|(?:(?<=[ \n])(_:[^ \n]++)(?= ))'
)


def without_labels(lines: bytes) -> bytes:
    """Return lines of canonical N-Quads with equal labels for all blank nodes."""
    if b" <<( " in lines:
        return _TOKEN.sub(lambda found: found[1] or b"_:", b"\n" + lines)[1:]
    return _LABEL.sub(b"_:", b"\n" + lines)[1:]


class BlankNodes(dict[bytes, bytes]):
    """The blank nodes of one document: new labels by old ones, in order."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    @cached_property
    def _prefix(self) -> bytes:  # most documents have no blank node
        digest = blake2b(self._url.encode("utf-8", "surrogatepass"), digest_size=5)
        return b"_:b" + digest.hexdigest().encode()

    def __missing__(self, old: bytes) -> bytes:
        if len(self) >= MAX_NUMBERED:
            digest = blake2b(old, digest_size=16, key=self._prefix).hexdigest()
            return b"%sh%s" % (self._prefix, digest.encode())
        new = self[old] = b"%sn%d" % (self._prefix, len(self))
        return new

    def forget(self, n_kept: int) -> None:
        """Remove all but the first labels; the other numbers are reused."""
        while len(self) > n_kept:
            self.popitem()

    def relabel(self, lines: bytes) -> bytes:
        """Return lines of canonical N-Quads with every blank node relabelled."""
        if b" <<( " in lines:
            return _TOKEN.sub(lambda x: x[1] or self[x[2]], b"\n" + lines)[1:]
        parts = _LABEL.split(b"\n" + lines)
        if len(parts) == 1:
            return lines
        parts[1::2] = map(self.__getitem__, parts[1::2])
        return b"".join(parts)[1:]
