"""Remove the names of graphs from canonical N-Quads, for formats of triples."""

from __future__ import annotations

import re

_SUBJECT = rb"(?:<[^ ]*>|_:[^ ]+)"
_OBJECT = (
    rb"(?:<[^ ]*>|_:[^ ]+|\"(?:[^\"\\\n]|\\.)*\"(?:@[^ ]+|\^\^<[^ ]*>)?|<<\(.*\)>>)"
)
# N-Quads 1.1 section 4: a statement with a graphLabel.
_NAMED = re.compile(
    rb"^(%b <[^ ]*> %b )%b \.$" % (_SUBJECT, _OBJECT, _SUBJECT), re.MULTILINE
)


def without_graph_names(block: bytes) -> tuple[bytes, int]:
    r"""Return the statements as canonical N-Triples, and how many named a graph.

    `block` is whole lines of canonical N-Quads.

    >>> without_graph_names(b'<urn:s> <urn:p> "a <urn:b> ." <urn:g> .\n')
    (b'<urn:s> <urn:p> "a <urn:b> ." .\n', 1)
    """
    return _NAMED.subn(rb"\1.", block)
