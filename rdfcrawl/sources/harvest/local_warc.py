"""The fetcher of local WARC files, which checks that a file can be read."""

from __future__ import annotations

import asyncio

from rdfcrawl.core.source_tasks import file_of_url
from rdfcrawl.downloader.scheme_fetcher import SchemeRequest, SchemeResponse


class LocalWarcFetcher:
    """See `SchemeFetcher`. `WarcHarvester` reads the file in place."""

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return an empty response for a file, and 404 if there is none.

        Raises:
            OSError: the file cannot be read.
        """
        path = file_of_url(request.url)
        if path is None:
            return SchemeResponse(status=404)
        with await asyncio.to_thread(path.open, "rb"):
            pass
        return SchemeResponse()
