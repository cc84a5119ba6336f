"""Filter URLs by the scope of a crawl, by patterns, hosts, domains and file names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from rdfcrawl.core.errors import ConfigError, Decision
from rdfcrawl.uri import host_of, registered_domain
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames
from rdfcrawl.uri.parse import NO_SCHEMES, SchemePolicy
from rdfcrawl.uri.traps import NO_TRAPS, TrapLimits

IGNORED_EXTENSIONS: Final = (
    # pictures
    "apng", "avif", "bmp", "cdr", "cur", "djvu", "drw", "dxf", "emf", "eps", "gif",
    "heic", "heif", "ico", "jfif", "jpe", "jpeg", "jpg", "jxl", "mng", "pct", "png",
    "ps", "psd", "psp", "pst", "tif", "tiff", "webp", "wmf",
    # sound and video
    "3gp", "aac", "aif", "aiff", "amr", "asf", "asx", "avi", "flac", "flv", "m2ts",
    "m3u8", "m4a", "m4b", "m4v", "mid", "midi", "mka", "mkv", "mov", "mp2", "mp3",
    "mp4", "mpeg", "mpg", "oga", "ogg", "ogv", "opus", "qt", "ra", "rm", "swf", "wav",
    "weba", "webm", "wma", "wmv",
    # fonts, styles and scripts
    "css", "eot", "js", "mjs", "otf", "scss", "ttf", "wasm", "woff", "woff2",
    # office documents and print formats
    "doc", "docb", "docm", "docx", "dot", "dotm", "dotx", "epub", "mobi", "odf", "odg",
    "odp", "ods", "odt", "pdf", "potm", "potx", "pps", "ppsx", "ppt", "pptm", "pptx",
    "rtf", "vsd", "xls", "xlsb", "xlsm", "xlsx", "xlt", "xltm", "xltx",
    # programs
    "apk", "bat", "bin", "cpl", "deb", "dmg", "exe", "hta", "iso", "jar", "msi", "msp",
    "rar", "rpm",
)  # fmt: skip
"""File name extensions whose links are not followed, by default."""
# A name in one of these folders names a thing or an article, as `Node.js` in DBpedia
# and Wikipedia.
_FOLDERS_OF_THINGS: Final = frozenset({"entity", "page", "resource", "wiki"})


@dataclass(frozen=True, slots=True)
class IgnoredNames:
    """Extensions of file names, in lower case and without their dots."""

    extensions: frozenset[str] = frozenset()

    def covers(self, path: str) -> bool:
        """Return whether a path, with or without a query, names an ignored file.

        >>> names = IgnoredNames(frozenset({"jpg", "js"}))
        >>> [names.covers(x) for x in ("/a/b.JPG?w=9", "/app.js", "/b%2ejpg;v=1")]
        [True, True, True]
        >>> [names.covers(x) for x in ("/a.php?f=b.jpg", "/a.jpg/", "/File:A.jpg")]
        [False, False, False]
        >>> names.covers("/resource/Node.js")
        False
        """
        path = path.partition("?")[0]
        folder, _, name = path.rpartition("/")
        if "%" in name:
            name = unquote(name)
        stem, dot, extension = name.partition(";")[0].rpartition(".")
        if not dot or extension.lower() not in self.extensions:
            return False
        # In a wiki, `File:A.jpg` is the page about a file.
        is_title = ":" in stem
        return not is_title and folder.rpartition("/")[2] not in _FOLDERS_OF_THINGS

    def covers_url(self, url: str) -> bool:
        """Return whether a requestable URL names an ignored file."""
        start = url.find("/", url.find("://") + 3)
        return start >= 0 and self.covers(url[start:])


NO_NAMES: Final = IgnoredNames()


class CrawlExtent(StrEnum):
    """How far from its seeds a crawl may go."""

    ANY = "any"
    DOMAIN = "domain"
    HOST = "host"
    PREFIX = "prefix"


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """The part of the web that a crawl stays in; `http` and `https` are equal.

    `entries` are the results of `entry` for all seeds.
    """

    extent: CrawlExtent = CrawlExtent.ANY
    entries: frozenset[str] = frozenset()

    def entry(self, seed: str) -> str:
        """Return the registered domain, host or URL prefix of a seed.

        A prefix is host, port and path up to its last slash. The result is empty if
        every URL is in scope.
        """
        if self.extent is CrawlExtent.PREFIX:
            path = seed.partition("://")[2].partition("?")[0]
            return path[: path.rfind("/") + 1]
        if self.extent is CrawlExtent.ANY:
            return ""
        host = host_of(seed)
        return registered_domain(host) if self.extent is CrawlExtent.DOMAIN else host

    def covers(self, url: str) -> bool:
        """Return whether a requestable URL lies in the scope."""
        if self.extent is CrawlExtent.ANY:
            return True
        if self.extent is not CrawlExtent.PREFIX:
            return self.entry(url) in self.entries
        path = url.partition("://")[2].partition("?")[0]
        end = path.find("/") + 1
        while end:  # one lookup per directory, regardless of the number of seeds
            if path[:end] in self.entries:
                return True
            end = path.find("/", end) + 1
        return False


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """Regular expressions that are searched for in URLs."""

    expressions: tuple[re.Pattern[str], ...] = ()

    def match(self, url: str) -> bool:
        """Return whether one of the expressions matches a part of the URL."""
        if not self.expressions:
            return False
        return any(expression.search(url) for expression in self.expressions)


def load_patterns(path: Path) -> UrlPatterns:
    """Return the patterns of a file: one Python expression per line.

    Blank lines and lines that begin with `#` are skipped; UTF-8.

    Raises:
        ConfigError: the file cannot be read, or a line is not an expression.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return parse_patterns(text, name=str(path))


def parse_patterns(text: str, *, name: str) -> UrlPatterns:
    """Return the patterns in the text of a file; see `load_patterns`.

    Raises:
        ConfigError: a line is not an expression.
    """
    expressions = []
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if line and not line.startswith("#"):
            try:
                expressions.append(re.compile(line))
            except (re.error, OverflowError, RecursionError) as error:
                raise ConfigError(
                    f"{name}:{number}: {line!r} is not a regular expression: {error}"
                ) from error
    return UrlPatterns(tuple(expressions))


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """The URLs that a crawl accepts: in scope, allowed, and not denied.

    `admits` ignores `traps`, `schemes` and `ignored`.
    """

    scope: CrawlScope = CrawlScope()
    # a URL must match one; without expressions, every URL is allowed
    allow: UrlPatterns = UrlPatterns()
    deny: UrlPatterns = UrlPatterns()  # a URL must match none; wins over `allow`
    # the host of a URL must be one, or below one; empty allows every host
    domains: frozenset[str] = frozenset()
    leave: HostNames = NO_HOSTS  # hosts that receive no further requests
    traps: TrapLimits = NO_TRAPS
    schemes: SchemePolicy = NO_SCHEMES
    ignored: IgnoredNames = NO_NAMES  # names of files that are not requested
    is_open: bool = field(init=False, compare=False)  # every URL is accepted

    def __post_init__(self) -> None:
        """Set `is_open`."""
        patterns = self.allow.expressions or self.deny.expressions
        judges = patterns or self.domains or self.leave
        is_open = self.scope.extent is CrawlExtent.ANY and not judges
        object.__setattr__(self, "is_open", is_open)

    def admits(self, url: str) -> bool:
        """Return whether a requestable URL is accepted."""
        return self.is_open or (
            self.admits_source(url)
            and (not self.allow.expressions or self.allow.match(url))
        )

    def admits_source(self, url: str) -> bool:
        """Return whether a source is accepted; `allow` applies to pages only."""
        return (
            self.scope.covers(url)
            and not self.deny.match(url)
            and (not self.domains or self._is_in_domains(host_of(url)))
            and not self.leave.covers(url)
        )

    def refusal(self, url: str) -> Decision | None:
        """Return why a requestable URL is not admitted; None if it is."""
        if self.admits(url):
            return None
        if not self.scope.covers(url):
            return Decision.OUT_OF_SCOPE
        if self.deny.match(url):
            return Decision.DENIED
        if self.domains and not self._is_in_domains(host_of(url)):
            return Decision.OTHER_DOMAIN
        if self.leave.covers(url):
            return Decision.HOST_LEFT
        return Decision.NOT_ALLOWED

    def _is_in_domains(self, host: str) -> bool:
        while host not in self.domains:
            host = host.partition(".")[2]
            if not host:
                return False
        return True
