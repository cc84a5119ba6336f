"""A fetcher of `s3://` whose objects and failures are listed in a file.

The setting `BUCKET` names a folder: `objects.json` has a `Reply` for each URL,
`asked.txt` gets a line for each request.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rdfcrawl import Reason, SchemeRequest, SchemeResponse, SourceFault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

SETTINGS: dict[str, Any] = {
    "FETCH_SCHEMES": json.dumps({"s3": f"{__name__}.BucketFetcher"}),
    "FRONTIER_LEASE_SECS": 1,
    "FRONTIER_COMMIT_SECS": 0.3,
}
_OF_RESPONSE = ("status", "media_type", "etag", "length", "location")
_ERRORS = {"OSError": OSError, "KeyError": KeyError, "TimeoutError": TimeoutError}


class Bucket:
    """The objects, as a test sees them.

    Attributes:
        objects: by URL: `text`, repeated `times`, after `secs`, cut after `stalls_at`
            chunks; members of `SchemeResponse`; the error it `raises`, a reason or an
            exception, and for `failures` times only, if that is given; or it
            `is_wrong`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects: dict[str, dict[str, Any]] = {}
        self._log = folder / "asked.txt"
        self._log.touch()

    def put(self, url: str, text: str = "", **reply: Any) -> str:
        """Put an object; return its URL."""
        self.objects[url] = {"text": text, **reply}
        (self.folder / "objects.json").write_text(json.dumps(self.objects))
        return url

    def asked(self) -> list[str]:
        """Return the requests: each a URL, and the validator that was sent with it."""
        return self._log.read_text().splitlines()

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a crawl of it."""
        return SETTINGS | {"BUCKET": self.folder} | more


class BucketFetcher:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = json.loads((folder / "objects.json").read_text())
        self._n_asked: Counter[str] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the fetcher of a crawler; without its setting, a `KeyError`."""
        return cls(Path({**crawler.settings}["BUCKET"]))

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return the content of the file."""
        self._write("asked.txt", f"{request.url} {request.etag}".strip())
        self._n_asked[request.url] += 1
        found = self._objects.get(request.url)
        if found is None:
            return SchemeResponse(status=404)
        await asyncio.sleep(found.get("secs", 0))
        if self._n_asked[request.url] <= found.get("failures", 1 << 30):
            _raise(found.get("raises", ""))
        if found.get("is_wrong"):
            return cast("SchemeResponse", found["text"])
        if request.etag and request.etag == found.get("etag"):
            return SchemeResponse(status=304, etag=request.etag)
        members = {name: found[name] for name in _OF_RESPONSE if name in found}
        return SchemeResponse(_chunks(found), **members)

    async def close(self) -> None:
        """Write that it was closed."""
        self._write("closed.txt", "closed")

    def _write(self, name: str, line: str) -> None:
        number = os.open(self._folder / name, os.O_APPEND | os.O_WRONLY | os.O_CREAT)
        os.write(number, line.encode() + b"\n")
        os.close(number)


def _raise(name: str) -> None:
    if name in _ERRORS:
        raise _ERRORS[name]("failure")
    if name:
        raise SourceFault(Reason(name), "failure")


async def _chunks(found: dict[str, Any]) -> AsyncIterator[bytes]:
    for n in range(found.get("times", 1)):
        if n == found.get("stalls_at"):
            await asyncio.Event().wait()
        yield found["text"].encode()
