"""Local WARC files as URLs of a crawl, so that workers share them like hosts.

`warc-file://<digest>/<path>`: the authority is a digest of the path, so each file has a
separate lease.
"""

from __future__ import annotations

from glob import glob
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

LOCAL_SCHEME: Final = "warc-file"


def url_of_file(path: Path) -> str:
    """Return the URL of a local file.

    >>> url_of_file(Path("/data/a b.warc.gz")).partition("/data")[2]
    '/a%20b.warc.gz'
    """
    absolute = str(path.absolute())
    digest = blake2b(absolute.encode("utf-8", "surrogateescape"), digest_size=8)
    return f"{LOCAL_SCHEME}://{digest.hexdigest()}{quote(absolute)}"


def file_of_url(url: str) -> Path | None:
    """Return the local file of a URL; None if the URL is not of a local file."""
    parts = urlsplit(url)
    path = Path(unquote(parts.path, errors="surrogateescape"))
    return path if url_of_file(path) == url else None


def matching_files(pattern: str) -> list[Path]:
    """Return the files that match a path or a pattern (`*`, `?`, `**`), sorted."""
    if (path := Path(pattern).expanduser()).is_file():
        return [path]
    found = glob(str(path), recursive=True)  # noqa: PTH207  of any folder
    return [each for each in map(Path, sorted(found)) if each.is_file()]
