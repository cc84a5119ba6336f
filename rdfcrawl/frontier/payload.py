r"""The bytes that stand for one URI in a queue of the frontier.

A payload is small, because there is one per queued URI:

    head    one byte: kind (bits 0-3), leases lost (4-5), retries (6-7)
    depth   one byte
    URL     compact against the key of its queue (`uri.compact`)
    \0 s p  if there is a parent: s = one byte, length of the prefix that the parent
            shares with the URL; p = the rest of the parent
    \0 c    for each URL that redirected here

The Lua operations read and change the head only (`lua/claim.lua`, `lua/reap.lua`).
URLs are ASCII without control characters (WHATWG), so \0 can part them; the byte s
is read by position.
"""

from __future__ import annotations

from rdfcrawl.records import Kind, Record
from rdfcrawl.uri import compact, expand

_MAX_SHARED = 255
_KINDS = {int(kind): kind for kind in Kind}


def pack(record: Record, key: str) -> bytes:
    """Return the payload of a record queued under a politeness key."""
    head = record.kind | min(record.lost, 3) << 4 | min(record.retries, 3) << 6
    text = compact(record.url, key).encode()
    fixed = bytes((head, min(record.depth, 255)))
    if not record.parent and not record.chain:
        return fixed + text
    shared = _shared_length(record.url, record.parent)
    tail = record.parent[shared:].encode()
    chain = b"".join(b"\0" + url.encode() for url in record.chain)
    return b"%b%b\0%c%b%b" % (fixed, text, shared, tail, chain)


def unpack(payload: bytes, key: str) -> Record:
    """Return the record of a payload taken from the queue of a politeness key."""
    head, depth = payload[0], payload[1]
    kind = _KINDS[head & 15]
    lost, retries = head >> 4 & 3, head >> 6
    end = payload.find(b"\0", 2)
    if end < 0:
        url = expand(payload[2:].decode(), key)
        return Record(url, kind, depth, "", (), lost, retries)
    url = expand(payload[2:end].decode(), key)
    tail, *chain = payload[end + 2 :].decode().split("\0")
    parent = url[: payload[end + 1]] + tail
    return Record(url, kind, depth, parent, tuple(chain), lost, retries)


def _shared_length(url: str, parent: str) -> int:
    most = min(len(url), len(parent), _MAX_SHARED)
    if url[:most] == parent[:most]:
        return most
    low, high = 0, most  # invariant: the first `low` characters agree
    while high - low > 1:
        middle = (low + high) // 2
        if url[low:middle] == parent[low:middle]:
            low = middle
        else:
            high = middle
    return low
