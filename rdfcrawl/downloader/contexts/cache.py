"""Caches of contexts: in the memory of a worker, and in Redis for all workers.

Commands use one key at a time; keys used together share the hash tag of the crawl, as
Redis Cluster requires.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from redis.asyncio import Redis
from redis.exceptions import RedisError

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.environment import MAX_CONTEXT_BYTES, ContextDocument

MAX_SHARED_BYTES: Final = 64 * 1024  # of one context, compressed
MAX_SHARED: Final = 1024  # contexts in Redis: at most 64 MiB
CLAIM_MS: Final = 60_000  # how long other workers wait for the one that fetches
_POLL_SECS: Final = 0.1
_HEAD_BYTES: Final = 16 * 1024  # an entry without its content


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """Result of loading a context; times are Unix time in seconds.

    Attributes:
        url: URL after redirects.
        content: JSON, UTF-8; empty if there is a fault.
        fault: why it is unavailable; empty if it is available.
        etag, last_modified: validators of the content.
        fresh_until: used without revalidation until then.
        stale_until: used with revalidation, or if its host fails, until then.
        is_private: must not be stored by a shared cache (RFC 9111 5.2.2).
    """

    url: str = ""
    content: bytes = b""
    fault: str = ""
    etag: str = ""
    last_modified: str = ""
    fresh_until: float
    stale_until: float
    is_private: bool = False

    @property
    def n_bytes(self) -> int:
        """Approximate size in memory."""
        return 2 * len(self.url) + len(self.content) + 500

    @property
    def is_fresh(self) -> bool:
        """Whether the entry may be used without revalidation."""
        return time.time() < self.fresh_until

    @property
    def is_usable(self) -> bool:
        """Whether the entry holds a context, fresh or stale."""
        return not self.fault and time.time() < self.stale_until

    def prolonged(self, secs: float) -> Self:
        """Return the entry, fresh for `secs` more, while its host fails."""
        return replace(self, fresh_until=time.time() + secs)

    def document(self) -> ContextDocument:
        """Return the context.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: it is unavailable.
        """
        if self.fault:
            raise SourceFault(Reason.REMOTE_CONTEXT, self.fault)
        return ContextDocument(url=self.url, content=self.content)

    def to_bytes(self) -> bytes:
        """Serialize the entry for `from_bytes`."""
        head = asdict(self)
        del head["content"]
        return zlib.compress(json.dumps(head).encode() + b"\n" + self.content)

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self | None:
        """Parse the result of `to_bytes`; None if `packed` is malformed."""
        try:
            stream = zlib.decompressobj()
            text = stream.decompress(packed, MAX_CONTEXT_BYTES + _HEAD_BYTES)
            head, _, content = text.partition(b"\n")
            entry = cls(**json.loads(head), content=content)
        except (zlib.error, ValueError, TypeError):
            return None
        return entry if stream.eof else None


class SharedContexts:
    """The entries that the workers of a crawl share in Redis.

    Args:
        key: returns the key of a name, with the hash tag of the crawl.
    """

    def __init__(
        self, redis: Redis, key: Callable[[str], str], *, count: Callable[[str], None]
    ) -> None:
        self._redis = redis
        self._key = key
        self._count = count

    async def get(self, name: str) -> ContextEntry | None:
        """Return an entry, fresh or not."""
        try:
            packed: Any = await self._redis.get(self._of(name))
        except RedisError:
            self._count("unshared")
            return None
        return ContextEntry.from_bytes(packed) if packed else None

    async def put(self, name: str, entry: ContextEntry) -> None:
        """Store an entry, unless private or large, and drop the oldest."""
        packed = entry.to_bytes()
        if entry.is_private or len(packed) > MAX_SHARED_BYTES:
            return
        key, index = self._of(name), self._key("contexts")
        ttl_ms = int((max(entry.stale_until, entry.fresh_until) - time.time()) * 1000)
        try:
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.set(key, packed, px=max(ttl_ms, 1))
                pipe.zadd(index, {key: time.time()})
                pipe.zcard(index)
                *_, n_kept = await pipe.execute()
            if n_kept > MAX_SHARED:
                oldest: Any = await self._redis.zpopmin(index, n_kept - MAX_SHARED)
                await self._redis.unlink(*(key for key, _ in oldest))
        except RedisError:
            self._count("unshared")

    async def claim(self, name: str) -> ContextEntry | None:
        """Wait for the entry that another worker fetches.

        Returns:
            None if the caller must fetch it, and then `release` the name; else the
            entry of the other worker.
        """
        lock = self._of(name) + ":claim"
        try:
            while not await self._redis.set(lock, b"", nx=True, px=CLAIM_MS):
                await asyncio.sleep(_POLL_SECS)
                entry = await self.get(name)
                if entry is not None and entry.is_fresh:
                    return entry
        except RedisError:
            self._count("unshared")
        return None

    async def release(self, name: str) -> None:
        """Let other workers fetch a name."""
        try:
            await self._redis.unlink(self._of(name) + ":claim")
        except RedisError:
            self._count("unshared")

    def _of(self, name: str) -> str:
        digest = hashlib.blake2b(name.encode(errors="replace"), digest_size=16)
        return self._key(f"context:{digest.hexdigest()}")
