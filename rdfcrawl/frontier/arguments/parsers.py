"""Parsers of spider arguments, from the texts of `-a`.

Invalid texts and unreadable files raise a `ConfigError` that names the argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Kind
from rdfcrawl.core.source_tasks import matching_files, url_of_file
from rdfcrawl.frontier.arguments.seeds import check_seed_file
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.queries import UserQuery, parse_user_query
from rdfcrawl.uri import BadUri, host_of, requestable
from rdfcrawl.uri.hosts import HostNames
from rdfcrawl.uri.link_filter import UrlPatterns, load_patterns, parse_patterns
from rdfcrawl.uri.parse import seed_url

Take = Literal["all", "datasets"]
GivenUp = Literal["failed", "dead", "unlikely"]
CrawlPolicy = Literal["none", "domain"]  # how the next fetches are chosen
MAX_QUOTA: Final = 100_000  # per registered domain and epoch
MAX_DEPTH: Final = 255  # limit of a record's depth field
INLINE: Final = "data:,"  # prefix of the remembered content of a file
VOID: Final = "void"  # the well-known VoID file of a site
DCAT_US: Final = "dcat-us"  # the data.json of a site
DCAT: Final = "dcat"  # the catalog of a portal that a page or URL shows
DATASETS: Final = "datasets"  # in the sitemaps that the robots.txt of a site names
OAI_PMH: Final = "oaipmh"
_HARVESTED: Final[dict[str, Kind | str]] = {
    **{word: word for word in (VOID, DCAT_US, DCAT, DATASETS, OAI_PMH)},
} | {
    kind.name.lower(): kind
    for kind in Kind
    if kind.is_source and kind not in (Kind.CUSTOM, Kind.WARC)
}

# A comma belongs to a URL unless another URL follows it.
_split_urls = re.compile(r",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://)").split
_is_name_of_text = re.compile(r"[\w./~-]+\.txt").fullmatch
_is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*").fullmatch

BOOLEANS: Final = {"0": False, "1": True, "false": False, "true": True}
Parser = Callable[[str], Any]
_COLLECTIONS: Final = (tuple, list, set, frozenset)
_UNIONS: Final = (Union, UnionType)
# A comma before a scheme would split the list.
_encode_commas = partial(re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9+.-]*://)").sub, "%2C")


def words_of(text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def _must_be(name: str, text: str, allowed: str) -> ConfigError:
    return ConfigError(f"argument {name}={text}: must be {allowed}")


def content_of(name: str, text: str) -> str:
    """Return the content of the file of an argument, now or as remembered."""
    if text.startswith(INLINE):
        return text.removeprefix(INLINE)
    try:
        return Path(text.removeprefix("@")).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"argument {name}={text}: cannot be read: {error}") from error


def parse_seeds(name: str, text: str) -> tuple[str, ...] | Path:
    """Return requestable URLs, or the path of a file of URLs."""
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
        raise _must_be(name, text, allowed + _meant(name, text)) from error


def _meant(name: str, text: str) -> str:
    """Return the hint for a file without `@`, or a host without a scheme."""
    with suppress(OSError, ValueError):
        if Path(text).is_file():
            return f"; the file is {name}=@{text}"
        if "." in host_of(url := requestable(f"https://{text}")):
            return f"; the host is {name}={url}"
    return ""


def parse_files(name: str, text: str) -> tuple[str, ...]:
    """Return the URLs of WARC files; local ones as `core.source_tasks` names them."""
    if text.startswith("@"):
        lines = map(str.strip, content_of(name, text).split("\n"))
        entries = [line for line in lines if not line.startswith("#")]
    else:
        entries = []
        for part in _split_urls(text):
            entries += [part] if "://" in part else words_of(part)
    urls: dict[str, None] = {}
    for entry in filter(None, entries):
        if "://" in entry:
            urls |= dict.fromkeys(cast("tuple[str, ...]", parse_seeds(name, entry)))
        elif files := matching_files(entry):
            urls |= dict.fromkeys(map(url_of_file, files))
        else:
            raise ConfigError(f"argument {name}={text}: there is no file {entry}")
    return tuple(urls)


def _seed(text: str) -> str:
    url = seed_url(text)
    if "," in host_of(url):  # WHATWG allows it; here, the scheme is missing
        raise BadUri(f"comma in the host: {text!r}")
    return url


def parse_choice(choices: Mapping[str, object]) -> Callable[[str, str], object]:
    """Return the parser of one of several words."""

    def parse(name: str, text: str) -> object:
        if text.lower() not in choices:
            raise _must_be(name, text, f"one of {', '.join(choices)}")
        return choices[text.lower()]

    return parse


def parse_domains(name: str, text: str) -> frozenset[str]:
    """Return hosts in lower case."""
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


def parse_url_patterns(name: str, text: str) -> UrlPatterns:
    """Return one regular expression, or those in a file."""
    if text.startswith(INLINE):
        return parse_patterns(content_of(name, text), name=name)
    if is_file_of_patterns(name, text):
        try:
            return load_patterns(Path(text.removeprefix("@")))
        except ConfigError as error:
            raise ConfigError(f"argument {name}={text}: {error}") from error
    allowed = "a regular expression, or a file of them"
    try:
        found = parse_patterns(text, name=name)
    except ConfigError as error:
        raise _must_be(name, text, f"{allowed}: {error.__cause__}") from error
    if text and not found.expressions:  # kept as a file, it would be a comment
        raise _must_be(name, text, allowed)
    return found


def is_file_of_patterns(name: str, text: str) -> bool:
    """Return whether a text names a file of regular expressions, and is not one."""
    with suppress(OSError):  # too long for a path
        if text.startswith("@") or Path(text).is_file():
            return True
    if _is_name_of_text(text):
        allowed = (
            rf"a file that is there; as a regular expression, write {text[:-4]}\.txt"
        )
        raise _must_be(name, text, allowed)
    return False


def parse_time(name: str, text: str) -> int:
    """Return a date or a time as Unix time in ms; 0 for an empty text."""
    from rdfcrawl.stores.export.selection import parse_since  # noqa: PLC0415 (few crawls)

    try:
        return parse_since(text) if text else 0
    except ConfigError as error:
        raise _must_be(name, text, "a date or a time, such as 2026-09-21") from error


def parse_number(maximum: int, minimum: int = 0) -> Callable[[str, str], int]:
    """Return the parser of an integer."""

    def parse(name: str, text: str) -> int:
        is_number = re.fullmatch(r"[0-9]{1,12}", text)
        if not is_number or not minimum <= int(text) <= maximum:
            raise _must_be(name, text, f"an integer from {minimum} to {maximum}")
        return int(text)

    return parse


def parse_shapes(name: str, text: str) -> Path | None:
    """Return the path of an existing file."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise _must_be(name, text, "an existing file of SHACL shapes")
    return path


def parse_items(name: str, text: str) -> frozenset[str]:
    """Return the IRIs of classes of items; empty for any class."""
    from rdfcrawl.rdf.items.names import class_iris  # noqa: PLC0415 (seldom used)

    try:
        return class_iris(text) or frozenset()
    except ConfigError as error:
        raise ConfigError(f"argument {name}={text}: {error}") from error


def parse_retry(name: str, text: str) -> tuple[GivenUp, ...]:
    """Return the reasons of the URIs to queue again."""
    words = words_of(text)
    if not set(words) <= set(get_args(GivenUp)):
        raise _must_be(name, text, f"some of {', '.join(get_args(GivenUp))}")
    return cast("tuple[GivenUp, ...]", words)


def parse_want(name: str, text: str) -> frozenset[str]:
    """Return wanted classes and properties, or the targets of a file of shapes."""
    from rdfcrawl.rdf.wanted import shape_targets, wanted_iris  # noqa: PLC0415 (few crawls)

    path = Path(text).expanduser()
    try:
        is_named = "://" not in text and path.suffix == ".ttl"
        if text and (is_named or path.is_file()):
            return shape_targets(path.read_bytes())
        return wanted_iris(words_of(text))
    except (OSError, ConfigError) as error:
        raise ConfigError(f"argument {name}={text}: {error}") from error


def parse_harvest(name: str, text: str) -> frozenset[Kind | str]:
    """Return the kinds of sources that are harvested."""
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


def parse_trust(name: str, text: str) -> HostNames:
    """Return hosts that sources may speak for."""
    try:
        return HostNames.parse(words_of(text))
    except BadUri as error:
        raise _must_be(
            name,
            text,
            "hosts such as example.org, example.org:8080 or *.example.org, separated"
            f" by commas: {error}",
        ) from error


def parse_graphs(name: str, text: str) -> frozenset[str]:
    """Return the names of graphs."""
    if text.startswith(("@", INLINE)):
        lines = content_of(name, text).splitlines()
        entries = [line.strip() for line in lines if not line.startswith("#")]
    else:
        entries = list(map(str.strip, _split_urls(text)))
    for entry in filter(None, entries):
        if entry != "default" and not _is_iri(entry):
            raise ConfigError(
                f"argument {name}={text}: {entry!r} must be an IRI, or `default`"
            )
    return frozenset(filter(None, entries))


def parse_query(name: str, text: str) -> UserQuery:
    """Return the query in a file."""
    shown = name if text.startswith(INLINE) else f"{name}={text}"
    return parse_user_query(content_of(name, text), name=f"argument {shown}")


def parse_text(_name: str, text: str) -> str:
    """Return any text."""
    return text


def parse_follow(_name: str, text: str) -> LinkPolicy:
    """Return which links are followed."""
    return LinkPolicy.parse(text)


def parse_words(_name: str, text: str) -> frozenset[str]:
    """Return the entries of a comma-separated list."""
    return frozenset(words_of(text))


class _UnknownChoice(ValueError):
    """A text that is not allowed; the message lists the allowed ones."""


def text_of(value: object) -> str:
    """Return the `-a` text of a Python value.

    Lists and other iterables are joined by commas, sets in sorted order.

    Raises:
        ConfigError: the value is bytes or a mapping.

    >>> text_of(["http://a.example/", "http://b.example/"])
    'http://a.example/,http://b.example/'
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Enum):
        return text_of(value.value)
    if isinstance(value, bytes | Mapping):
        raise ConfigError(f"{type(value).__name__} is neither text nor a list")
    if not isinstance(value, Iterable):
        return str(value)
    texts = [_encode_commas(text_of(each)) for each in value]
    return ",".join(sorted(texts) if isinstance(value, set | frozenset) else texts)


def parse_own(name: str, field: Field[Any], type_: Any, text: str) -> Any:
    """Return the value of an argument that a user's class has added.

    Args:
        name: of the argument.
        field: of the dataclass; `metadata["parse"]` reads texts of other types.
        type_: its annotation, resolved.
        text: as given.

    Raises:
        ConfigError: the text is not valid; one line that names the allowed values.
    """
    if field.default is MISSING and field.default_factory is MISSING:
        raise ConfigError(f"argument {name}: its field needs a default")
    parse = field.metadata.get("parse") or _parser_of(name, type_)
    try:
        return parse(text)
    except _UnknownChoice as error:
        raise ConfigError(f"argument {name}={text}: must be {error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        detail = f"must be {_described(type_)}: {error}"
        raise ConfigError(f"argument {name}={text}: {detail}") from error


def _parser_of(name: str, type_: Any) -> Parser:
    origin, inner = get_origin(type_), get_args(type_)
    if origin in _UNIONS:
        choices = [each for each in inner if each is not NoneType]
        if len(choices) == 1:
            return _parser_of(name, choices[0])
    elif origin is Literal:
        return partial(_choice, {str(each): each for each in inner})
    elif origin in _COLLECTIONS and inner:
        return partial(_collection, origin, _parser_of(name, inner[0]))
    elif type_ is bool:
        return lambda text: _choice(BOOLEANS, text.lower())
    elif isinstance(type_, type) and issubclass(type_, Enum):
        return partial(_choice, {str(each.value): each for each in type_})
    elif type_ in (str, int, float, Path):
        return type_  # type: ignore[no-any-return]
    raise ConfigError(
        f"argument {name}: no text is read as {_described(type_)}; give its field"
        " metadata={'parse': a function of the text}"
    )


def _choice(choices: Mapping[str, Any], text: str) -> Any:
    if text not in choices:
        raise _UnknownChoice(f"one of {', '.join(choices)}")
    return choices[text]


def _collection(make: Callable[[list[Any]], Any], parse: Parser, text: str) -> Any:
    return make([parse(each.strip()) for each in text.split(",") if each.strip()])


def _described(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_)
