"""The names and types of files that are left out."""

from __future__ import annotations

from scrapy.linkextractors import IGNORED_EXTENSIONS as SCRAPYS

from rdfcrawl.core.formats import FORMATS, PACKING_EXTENSIONS
from rdfcrawl.downloader.client import IGNORED_MEDIA_TYPES, UnreadTypes
from rdfcrawl.uri.link_filter import IGNORED_EXTENSIONS
from tests.support.pages import read_page

# Of Scrapy's, those that may hold statements, that are programs of servers, or that
# end the names of hosts as well.
REQUESTED = {
    *("7z", "7zip", "bz2", "tar", "tar.gz", "xz", "zip", "rss", "svg"),
    *("py", "rb", "sh", "ai", "au"),
}


def test_what_may_hold_statements_is_requested() -> None:
    """If an extension or a type is of RDF or an archive, then it is in no list."""
    read = {name for each in FORMATS for name in each.extensions} | PACKING_EXTENSIONS
    assert not read & set(IGNORED_EXTENSIONS)
    unread = UnreadTypes(
        names=frozenset(x for x in IGNORED_MEDIA_TYPES if x[-1] != "*"),
        begins=tuple(x[:-1] for x in IGNORED_MEDIA_TYPES if x[-1] == "*"),
    )
    for media_type in (
        *(name for each in FORMATS for name in each.media_types),
        *("", "text/plain", "text/csv", "application/octet-stream", "application/zip"),
        *("application/gzip", "application/json", "application/xml", "text/xml"),
        *("image/svg+xml", "model/gltf+json", "multipart/mixed", "nonsense"),
    ):
        unread.check("http://a.example/b", media_type)


def test_list_has_that_of_scrapy() -> None:
    """If Scrapy ignores an extension, then so do we, unless there is a reason."""
    assert set(SCRAPYS) - REQUESTED <= set(IGNORED_EXTENSIONS)


def test_page_lists_all_of_them() -> None:
    """If an extension or type is left out by default, then the page names it."""
    page = read_page("politeness.md")
    section = page.partition("## Skipped files")[2].partition("## Traps")[0]
    for name in (*IGNORED_EXTENSIONS, *IGNORED_MEDIA_TYPES):
        assert f"`{name}`" in section, name
