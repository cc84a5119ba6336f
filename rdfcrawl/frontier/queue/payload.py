r"""The bytes of one URI in a queue of the frontier.

A payload is small, because there is one per queued URI:

    head    one byte: kind (bits 0-3), suspected of killing workers (4-5), retries (6-7)
    depth   one byte
    URL     compact against the key of its queue (`uri.compact`)
    \0 s p  if there is a parent: s = one byte, length of a prefix that the parent
            shares with the URL; p = the rest of the parent
    \0 c    for each URL that redirected here
    \0 \x02 c  if it is fetched again for a change
    \0 \x01 t  if there is a task: its text (`core.tasks`)
    \0 \x03 n  if its profile is not 0
    \0 \x04 n  if it has lost n eighths of a life
    \0 \x05 g  if it was granted in an epoch of its domain (`lua/schedule.lua`), which
            only the frontier reads

The Lua operations read and change the head and the last two of these. URLs are ASCII
without control characters (WHATWG), so \0 can part them; the byte s is read by
position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.uri import compact, expand

if TYPE_CHECKING:
    from rdfcrawl.core.tasks import Task

_MAX_SHARED = 255
_TASK, _CHANGE, _PROFILE, _BLAME = "\x01", "\x02", "\x03", "\x04"  # not in URLs
_GRANT = "\x05"
_KINDS = {int(kind): kind for kind in Kind}


def pack(record: Record, key: str, task: str | None = None) -> bytes:
    """Return the payload of a record; `task` is its `task_text()`, if known."""
    head = int(record.kind)
    if record.lost or record.retries:
        head |= min(record.lost, 3) << 4 | min(record.retries, 3) << 6
    url, parent = record.url, record.parent
    payload = pack_link(url, head, record.depth, parent, short=compact(url, key))
    more = "".join(f"\0{hop}" for hop in record.chain)
    if record.change:
        more = f"{more}\0{_CHANGE}{record.change}"
    if record.task is not None:
        more = f"{more}\0{_TASK}{record.task_text() if task is None else task}"
    if record.profile:
        more = f"{more}\0{_PROFILE}{record.profile}"
    if record.blame:
        more = f"{more}\0{_BLAME}{record.blame}"
    if more and not parent:
        more = f"\0\0{more}"
    return payload + more.encode("latin-1") if more else payload


def pack_link(
    url: str, head: int, depth: int, parent: str, *, short: str, profile: int = 0
) -> bytes:
    """Return `pack` of a link's record, without making the record.

    `head` is its kind, and `short` is `uri.compact` of its URL.
    """
    text = f"{chr(head)}{chr(min(depth, 255))}{short}"
    if parent or profile:
        # A common prefix that is cheap to find.
        if parent.startswith(url):
            shared = min(len(url), _MAX_SHARED)
        else:
            shared = min(url.rfind("/") + 1, _MAX_SHARED)
            if url[:shared] != parent[:shared]:
                shared = min(url.find("/", url.find("://") + 3) + 1, _MAX_SHARED)
                shared = shared if url[:shared] == parent[:shared] else 0
        text = f"{text}\0{chr(shared)}{parent[shared:]}"
    if profile:
        text = f"{text}\0{_PROFILE}{profile}"
    return text.encode("latin-1")  # one byte per character: URLs are ASCII


def unpack(payload: bytes, key: str) -> Record:
    """Return the record of a payload from the queue of a politeness key.

    Raises:
        ValueError, LookupError, SourceFault: the payload is not a record.
    """
    text = payload.decode("latin-1")
    head, depth = payload[0], payload[1]
    kind, lost, retries = _KINDS[head & 15], head >> 4 & 3, head >> 6
    end = text.find("\0", 2)
    if end < 0:
        url = _url(text[2:], key)
        return Record(url, kind, depth, "", (), lost, retries)
    url = _url(text[2:end], key)
    tail, *chain = text[end + 2 :].split("\0")
    parent = url[: payload[end + 1]] + tail
    if chain and chain[-1][:1] == _GRANT:
        chain.pop()
    blame = int(chain.pop()[1:]) if chain and chain[-1][:1] == _BLAME else 0
    profile = int(chain.pop()[1:]) if chain and chain[-1][:1] == _PROFILE else 0
    task = _task(chain.pop()[1:]) if chain and chain[-1].startswith(_TASK) else None
    change = chain.pop()[1:] if chain and chain[-1].startswith(_CHANGE) else ""
    hops = tuple(map(_checked, chain))
    return Record(
        url, kind, depth, parent, hops, lost, retries, task, change, profile, blame
    )


def parent_of(payload: bytes, key: str) -> str:
    """Return the parent of a record without unpacking the rest; see `unpack`."""
    text = payload.decode("latin-1")
    end = text.find("\0", 2)
    if end < 0:
        return ""
    url = _url(text[2:end], key)
    return url[: payload[end + 1]] + text[end + 2 :].partition("\0")[0]


def _task(text: str) -> Task:
    from rdfcrawl.core.tasks import decode_task  # noqa: PLC0415

    return decode_task(text)


def _url(text: str, key: str) -> str:
    return _checked(expand(text, key))


def _checked(url: str) -> str:
    if "://" in url and url.isascii() and url.isprintable():
        return url
    raise ValueError("no URL")
