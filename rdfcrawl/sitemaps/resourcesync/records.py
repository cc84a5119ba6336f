"""Bound the tasks of records, and name sets of resources."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.codec import encode
from rdfcrawl.errors import Reason, SourceFault

if TYPE_CHECKING:
    from rdfcrawl.tasks.sync import SyncTask

MAX_STEP_CHARS: Final = 2048  # of the text of a task
MAX_OTHERS: Final = 8  # mirrors that are kept for one resource


def fitted(task: SyncTask) -> SyncTask:
    """Return a task whose text has at most `MAX_STEP_CHARS`.

    From a longer one, mirrors, the manifest and then all digests but one are removed.

    Raises:
        SourceFault: `BAD_URI`: still too long.
    """
    found = task
    if len(encode(found)) > MAX_STEP_CHARS:
        found = replace(found, others=(), manifest="")
    if found is not task and len(encode(found)) > MAX_STEP_CHARS:
        found = replace(found, hashes=found.hashes.rpartition(" ")[2], version="")
        if len(encode(found)) > MAX_STEP_CHARS:
            raise SourceFault(Reason.BAD_URI, f"too long: {task.uri[:100]}...")
    return found


def source_id(url: str) -> str:
    """Return a short name for a set of resources, from its capability list's URL.

    >>> source_id("http://example.org/capabilitylist.xml")
    '7e89428608c5'
    """
    return blake2b(url.encode(), digest_size=6).hexdigest()
