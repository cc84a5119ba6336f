"""The texts of the arguments of a spider, as `-a` gives them, and their values.

A wrong text, or a file that cannot be read, is a `ConfigError` that names the argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Kind
from rdfcrawl.core.warc_files import matching_files, url_of_file
from rdfcrawl.frontier.arguments.own import BOOLEANS, text_of
from rdfcrawl.frontier.arguments.seeds import check_seed_file, iter_seeds
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.user_queries import UserQuery, parse_user_query
from rdfcrawl.uri import BadUri, host_of, requestable
from rdfcrawl.uri.hosts import HostNames
from rdfcrawl.uri.link_filter import (
    CrawlExtent,
    UrlPatterns,
    load_patterns,
    parse_patterns,
)
from rdfcrawl.uri.schemes import seed_url

Take = Literal["all", "datasets"]
GivenUp = Literal["failed", "dead"]
CrawlPolicy = Literal["none", "domain"]  # who says what is fetched next
MAX_QUOTA: Final = 100_000  # of a registered domain in an epoch
MAX_DEPTH: Final = 255  # what a record holds; a record's depth stops growing there
MAX_NAMED: Final = 100_000  # sources that a crawl remembers as named by its operator
INLINE: Final = "data:,"  # what follows is the content of a file that is remembered
# Sources that the operator names, and what they are.
NAMED: Final = {
    "sites": Kind.SITEMAP,
    "sources": Kind.RESOURCESYNC,
    "portals": Kind.CKAN,
    "endpoints": Kind.SPARQL,
    "files": Kind.WARC,
}
VOID: Final = "void"  # of a site, at its well-known place
_HARVESTED: Final[dict[str, Kind | str]] = {VOID: VOID} | {
    kind.name.lower(): kind
    for kind in Kind
    if kind.is_source and kind not in (Kind.CUSTOM, Kind.WARC)
}

# A comma belongs to a URL unless another URL begins after it.
_split_urls = re.compile(r",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://)").split
_is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*").fullmatch


def texts_of(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return arguments as texts, without absent ones and those of scrapyd.

    A path stands for the file; of regular expressions, a list for what is in one.
    """
    return {
        name: _text_of(name, value)
        for name, value in arguments.items()
        if value is not None and name != "_job"
    }


def _text_of(name: str, value: object) -> str:
    if isinstance(value, Path):
        return f"@{value}" if PARSERS.get(name) in (_seeds, _graphs) else str(value)
    try:
        is_list = isinstance(value, Iterable) and not isinstance(value, str)
        if is_list and PARSERS.get(name) is _patterns:
            return INLINE + "\n".join(map(text_of, cast("Iterable[object]", value)))
        return text_of(value)
    except ConfigError as error:
        raise ConfigError(f"argument {name}: {error}") from error


def inlined(name: str, text: str) -> str:
    """Return the text of an argument with the content of the file that it names.

    Of a file of sources, the first `MAX_NAMED` URLs.
    """
    if text.startswith(INLINE):
        return text
    if name in NAMED:
        urls = iter_seeds(PARSERS[name](name, text))
        named = islice((url for url in urls if isinstance(url, str)), MAX_NAMED)
        return ",".join(named)
    parse = PARSERS.get(name)
    is_file = parse in (_patterns, _query) or (
        parse is _graphs and text.startswith("@")
    )
    return INLINE + _content(name, text) if is_file else text


def words_of(text: str) -> tuple[str, ...]:
    """Return the entries of a list that is separated by commas."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def _must_be(name: str, text: str, allowed: str) -> ConfigError:
    return ConfigError(f"argument {name}={text}: must be {allowed}")


def _content(name: str, text: str) -> str:
    """Return what is in the file of an argument, or what was in it before."""
    if text.startswith(INLINE):
        return text.removeprefix(INLINE)
    try:
        return Path(text.removeprefix("@")).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"argument {name}={text}: cannot be read: {error}") from error


def _seeds(name: str, text: str) -> tuple[str, ...] | Path:
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            check_seed_file(path)
        except ConfigError as error:
            raise _must_be(
                name, text, f"URLs, or @FILE of URLs that {error}"
            ) from error
        return path
    try:
        return tuple(map(_seed, _split_urls(text.strip(", ")))) if text else ()
    except BadUri as error:
        allowed = f"http(s) or ftp(s) URLs separated by commas, or @FILE: {error}"
        raise _must_be(name, text, allowed) from error


def _files(name: str, text: str) -> tuple[str, ...]:
    """Return the URLs of WARC files; local ones as `core.warc_files` names them."""
    if text.startswith("@"):
        lines = map(str.strip, _content(name, text).split("\n"))
        entries = [line for line in lines if not line.startswith("#")]
    else:
        entries = []
        for part in _split_urls(text):
            entries += [part] if "://" in part else words_of(part)
    urls: dict[str, None] = {}
    for entry in filter(None, entries):
        if "://" in entry:
            urls |= dict.fromkeys(cast("tuple[str, ...]", _seeds(name, entry)))
        elif files := matching_files(entry):
            urls |= dict.fromkeys(map(url_of_file, files))
        else:
            raise ConfigError(f"argument {name}={text}: there is no file {entry}")
    return tuple(urls)


def _seed(text: str) -> str:
    url = seed_url(text)
    if "," in host_of(url):  # WHATWG allows it; here it is a URL without its scheme
        raise BadUri(f"comma in the host: {text!r}")
    return url


def _one_of(choices: Mapping[str, object]) -> Callable[[str, str], object]:
    def parse(name: str, text: str) -> object:
        if text.lower() not in choices:
            raise _must_be(name, text, f"one of {', '.join(choices)}")
        return choices[text.lower()]

    return parse


def _domains(name: str, text: str) -> frozenset[str]:
    allowed = "hosts such as example.org, separated by commas"
    domains = set()
    for entry in words_of(text):
        try:
            domain = host_of(requestable(f"http://{entry}/"))
        except BadUri:
            domain = ""
        if "/" in entry or not domain:
            raise _must_be(name, text, allowed)
        domains.add(domain)
    return frozenset(domains)


def _patterns(name: str, text: str) -> UrlPatterns:
    if text.startswith(INLINE):
        return parse_patterns(_content(name, text), name=name)
    try:
        return load_patterns(Path(text))
    except ConfigError as error:
        raise ConfigError(f"argument {name}={text}: {error}") from error


def _number(maximum: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > maximum:
            raise _must_be(name, text, f"a whole number from 0 to {maximum}")
        return int(text)

    return parse


def _quota(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 2 <= int(text) <= MAX_QUOTA:
        raise _must_be(name, text, f"a whole number from 2 to {MAX_QUOTA}")
    return int(text)


def _shapes(name: str, text: str) -> Path | None:
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise _must_be(name, text, "a file of SHACL shapes that is there")
    return path


def _retry(name: str, text: str) -> tuple[GivenUp, ...]:
    words = words_of(text)
    if not set(words) <= set(get_args(GivenUp)):
        raise _must_be(name, text, f"some of {', '.join(get_args(GivenUp))}")
    return cast("tuple[GivenUp, ...]", words)


def _harvest(name: str, text: str) -> frozenset[Kind | str]:
    words: dict[str, set[Kind | str]] = {
        "all": set(_HARVESTED.values()),
        "none": set(),
    } | {word: {source} for word, source in _HARVESTED.items()}
    try:
        chosen = [words[word.strip()] for word in text.split(",")]
    except KeyError as error:
        raise ConfigError(
            f"argument {name}={text}: {error} must be one of {', '.join(words)}"
        ) from None
    return frozenset().union(*chosen)


def _trust(name: str, text: str) -> HostNames:
    try:
        return HostNames.parse(words_of(text))
    except BadUri as error:
        raise _must_be(
            name,
            text,
            "hosts such as example.org, example.org:8080 or *.example.org, separated"
            f" by commas: {error}",
        ) from error


def _graphs(name: str, text: str) -> frozenset[str]:
    if text.startswith(("@", INLINE)):
        lines = _content(name, text).splitlines()
        entries = [line.strip() for line in lines if not line.startswith("#")]
    else:
        entries = list(map(str.strip, _split_urls(text)))
    for entry in filter(None, entries):
        if entry != "default" and not _is_iri(entry):
            raise ConfigError(
                f"argument {name}={text}: {entry!r} must be an IRI, or `default`"
            )
    return frozenset(filter(None, entries))


def _query(name: str, text: str) -> UserQuery:
    shown = name if text.startswith(INLINE) else f"{name}={text}"
    return parse_user_query(_content(name, text), name=f"argument {shown}")


def _text(_name: str, text: str) -> str:
    return text


_BOOLEAN: Final = _one_of(BOOLEANS)
PARSERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "seeds": _seeds,
    "follow": lambda _name, text: LinkPolicy.parse(text),
    "scope": _one_of({str(extent): extent for extent in CrawlExtent}),
    "domains": _domains,
    "depth": _number(MAX_DEPTH),
    "max_per_host": _number(2**31 - 1),
    "max_hosts_per_domain": _number(2**31 - 1),
    "max_per_domain": _number(2**31 - 1),
    "schedule": _one_of({word: word for word in get_args(CrawlPolicy)}),
    "quota": _quota,
    "allow": _patterns,
    "deny": _patterns,
    "shapes": _shapes,
    "fresh": _BOOLEAN,
    "reset": lambda _name, text: frozenset(words_of(text)),
    "retry": _retry,
    "harvest": _harvest,
    "trust": _trust,
    "sites": _seeds,
    "slice": _BOOLEAN,
    "sources": _seeds,
    "audit": _BOOLEAN,
    "portals": _seeds,
    "organization": _text,
    "group": _text,
    "q": _text,
    "fq": _text,
    "endpoints": _seeds,
    "graphs": _graphs,
    "skip_graphs": _graphs,
    "take": _one_of({word: word for word in get_args(Take)}),
    "query": _query,
    "files": _files,
}
