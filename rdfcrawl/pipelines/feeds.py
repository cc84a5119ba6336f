"""Feeds: the options `-o` and `-O` of commands that crawl."""

from __future__ import annotations

import argparse
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from scrapy.commands import BaseRunSpiderCommand
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from rdfcrawl.core.console import fail, report_interrupts
from rdfcrawl.core.options.scrapy_settings import apply_feed_formats

if TYPE_CHECKING:
    from rdfcrawl.pipelines.durable_feeds import DurableFeeds


class FeedsExtension:
    """Extension that has Scrapy's feeds, or nothing without the setting `FEEDS`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DurableFeeds:
        """Return the extension of a crawler with feeds."""
        settings = crawler.settings
        if not (settings.getdict("FEEDS") or settings["FEED_URI"]):
            raise NotConfigured
        from rdfcrawl.pipelines.durable_feeds import DurableFeeds

        return DurableFeeds.from_crawler(crawler)


_GZIP: Final = "scrapy.extensions.postprocessing.GzipPlugin"
_PLACEHOLDER: Final = "%("


class FeedsCommand(BaseRunSpiderCommand):
    """Base of commands that run a spider whose feeds may be RDF or compressed."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add `--page` to the options of Scrapy."""
        report_interrupts()
        super().add_options(parser)
        parser.add_argument(
            "--page",
            action="store_true",
            help="serve the live page of the crawl meanwhile, as `page` does",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options."""
        _add_formats(self.settings, opts)
        super().process_options(args, opts)
        _compress_feeds(self.settings, opts)
        if self.settings is not None:
            _check_files(self.settings)


def _add_formats(settings: BaseSettings | None, opts: argparse.Namespace) -> None:
    """Add our formats to the settings, and set those of `.gz` files in the options."""
    if settings is not None:
        apply_feed_formats(settings)
    for name in ("output", "overwrite_output"):
        if given := getattr(opts, name):
            setattr(opts, name, [_with_format(uri) for uri in given])


def _with_format(uri: str) -> str:
    path = PurePath(uri)
    inner = PurePath(path.stem).suffix
    return f"{uri}:{inner[1:]}" if path.suffix == ".gz" and inner else uri


def _compress_feeds(settings: BaseSettings | None, opts: argparse.Namespace) -> None:
    """Compress the files of the options whose names end in `.gz`."""
    feeds = settings.getdict("FEEDS") if settings is not None else {}
    given = {*(opts.output or ()), *(opts.overwrite_output or ())}
    given |= {uri.rpartition(":")[0] for uri in given}
    packed = [uri for uri in feeds if uri in given and uri.endswith(".gz")]
    if settings is None or not packed:
        return
    for uri in packed:
        feeds[uri] = {"postprocessing": [_GZIP], **feeds[uri]}
    settings.set("FEEDS", feeds, settings.getpriority("FEEDS") or 0)


def _check_files(settings: BaseSettings) -> None:
    """Exit with one line if the file of a feed cannot be written.

    Scrapy would open it at the first item, and go on without the feed. A last line that
    was cut, as by a full disk, is ended: new rows do not become part of it.
    """
    for given, options in settings.getdict("FEEDS").items():
        uri = str(given)
        address = urlsplit(uri)
        if address.scheme not in ("", "file") or _PLACEHOLDER in uri:
            continue
        path = Path(unquote(address.path) if address.scheme else uri)
        is_new = not path.exists()
        if not (is_new or path.is_file() or path.is_dir()):
            continue  # a pipe waits for its reader
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                if not options.get("overwrite") and _is_by_lines(options):
                    file.seek(max(file.tell() - 1, 0))
                    file.write(b"\n" if file.read(1) not in (b"", b"\n") else b"")
        except OSError as error:
            fail(f"feed {uri}: {error.strerror}; name a file that can be written")
        if is_new:
            path.unlink()


def _is_by_lines(options: dict[str, Any]) -> bool:
    is_plain = not options.get("postprocessing")
    return is_plain and options.get("format") in {
        "jl",
        "jsonl",
        "jsonlines",
        "nq",
        "nt",
    }


def check_feeds_of_workers(settings: BaseSettings, n_workers: int) -> None:
    """Exit with one line if several workers would write one file."""
    for uri in settings.getdict("FEEDS") if n_workers > 1 else ():
        if _PLACEHOLDER not in str(uri):
            fail(
                f"workers: {uri}: each worker writes a feed, so put %(worker)s"
                " into the name"
            )
