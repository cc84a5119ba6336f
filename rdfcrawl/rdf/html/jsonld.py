"""Extract JSON-LD from the script elements of a page, repaired where necessary.

Source: JSON-LD 1.1 section 7 "Embedding JSON-LD in HTML Documents"; API section 6.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.namespaces import JSON_LD
from rdfcrawl.rdf.html.extractors import MAX_EXTRUCT_BYTES
from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.reading import read_json_ld_value
from rdfcrawl.rdf.nesting import MAX_DEPTH, is_json_too_deep, refuse_constant

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage


MAX_BLOCKS: Final = 1000
MEDIA_TYPE: Final = "application/ld+json"

# Numbers of JavaScript: extruct reads them, and our reader refuses them.
_has_constant = re.compile(r"[:\[,]\s*+(?:NaN|-?Infinity)\b").search

# Scripts with these profiles contain no data.
_NO_DATA: Final = frozenset((JSON_LD + "context", JSON_LD + "frame"))
_PROFILE = re.compile(
    r""";\s*profile\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]+))""", re.IGNORECASE
)
# For pages that are too deep to be parsed: comments and scripts, as in a tokenizer.
_SCRIPTS = re.compile(
    r"<!--(?:[^-]|-(?!->))*+(?:-->|\Z)"
    r"|<script\b([^<>]*+)>((?:[^<]|<(?!/script))*+)(?:</script|\Z)",
    re.IGNORECASE,
)
_TYPE = re.compile(r"""\stype\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)


def iter_blocks(page: ParsedPage, fragment: str = "") -> Iterator[tuple[str, str]]:
    """Yield text and profiles of a page's JSON-LD scripts, in document order.

    With a fragment, yield only the script with this `id`, or raise `SourceFault`
    (`SYNTAX`: "loading document failed"). A page too deep to be parsed is searched as
    text.
    """
    if fragment:
        yield _targeted(page, fragment)
        return
    try:
        tree = page.head_tree if page.has_json_ld_in_head_only else page.tree
        nodes = tree.css("script[type]")
    except SourceFault:
        yield from _iter_as_text(page)
        return
    for node in nodes:
        media_type = node.attributes["type"] or ""
        if _is_json_ld(media_type):
            yield node.text(), _profile(media_type)


def extract_json_ld(
    page: ParsedPage, environment: ReaderContext, log: FaultLog
) -> Iterator[bytes]:
    """Yield the statements of all blocks, as canonical N-Quads that may have graphs.

    An unreadable block does not affect the others. Blank nodes are not shared between
    blocks. `log` takes one `REPAIRED` for each kind of damage.

    Raises:
        NeedsSandbox: before anything was yielded.
    """
    if environment.is_bounded:
        yield from _iter_statements(page, environment, log)
        return
    # All or nothing: after `NeedsSandbox` another process starts over.
    own_log = FaultLog()
    blocks = list(_iter_statements(page, environment, own_log))
    for fault in own_log.all():
        is_apart = fault.reason is Reason.REPAIRED
        log.note(fault.reason, fault.detail, fault.count, apart=is_apart)
    yield from blocks


def _iter_statements(
    page: ParsedPage, environment: ReaderContext, log: FaultLog
) -> Iterator[bytes]:
    for number, (text, profile) in enumerate(iter_blocks(page)):
        if number == MAX_BLOCKS:
            log.note(Reason.TOO_LARGE, f"more than {MAX_BLOCKS} blocks of JSON-LD")
            return
        if not text.strip() or not _NO_DATA.isdisjoint(profile.split()):
            continue
        try:
            value, scope = _load(text, environment, log), f"script{number}"
            options = JsonLdReaderOptions(base=page.likely_base, scope=scope)
            yield from read_json_ld_value(
                value, options=options, environment=environment, log=log
            )
        except SourceFault as error:
            log.note(error.fault.reason, f"json-ld: {error.fault.detail}")


def _load(text: str, environment: ReaderContext, log: FaultLog) -> Any:
    """Return the value of a block, read by extruct if our reader refuses it."""
    try:
        value, repairs = load_json(text)
    except SourceFault as error:
        is_small = len(text) <= MAX_EXTRUCT_BYTES
        is_syntax = error.fault.reason is Reason.SYNTAX
        if not (is_small and is_syntax and _has_constant(text)):
            raise
        from rdfcrawl.rdf.html.extruct_reading import load_with_extruct  # noqa: PLC0415

        try:
            value = load_with_extruct(text, environment)
        except ValueError:
            raise error from None
        detail = f"JSON-LD: read by extruct after: {error.fault.detail}"
        log.note(Reason.REPAIRED, detail, apart=True)
        return value
    for kind, count in repairs.items():
        log.note(Reason.REPAIRED, f"JSON-LD: {kind}", count, apart=True)
    return value


def _is_json_ld(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def _profile(media_type: str) -> str:
    return _quoted(_PROFILE.search(media_type))


def _quoted(found: re.Match[str] | None) -> str:
    return (found[1] or found[2] or found[3] or "") if found else ""


def _targeted(page: ParsedPage, fragment: str) -> tuple[str, str]:
    """Return the script with a fragment as `id`: API section 6, step 5."""
    for node in page.tree.css("[id]"):
        if node.attributes["id"] == fragment:
            media_type = node.attributes.get("type") or ""
            if node.tag == "script" and _is_json_ld(media_type):
                return node.text(), _profile(media_type)
            break
    raise SourceFault(Reason.SYNTAX, f"loading document failed: no script {fragment}")


def _iter_as_text(page: ParsedPage) -> Iterator[tuple[str, str]]:
    for script in _SCRIPTS.finditer(page.text):
        media_type = _quoted(_TYPE.search(script[1] or ""))
        if _is_json_ld(media_type):
            yield script[2], _profile(media_type)


MAX_VALUES: Final = 1000  # JSON values in a row in one block

# Each alternative matches once it begins, so the text is read once.
_STRING = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<cdata>(?://\s*+)?(?:<!\[CDATA\[|\]\]>))"
    r"|(?P<html>(?://\s*+)?(?:<!--|-->))"
    r"|(?P<js>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|//[^\n]*+)",
    re.DOTALL,
)
_HTML_COMMENT = re.compile(rf"({_STRING})|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])|,(?=\s*+,)", re.DOTALL)
_BAD_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_ENTITY = re.compile(rf"({_STRING})|&(?:quot|#0*34|#x0*22);", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r"[\s,;]*+")
_KINDS: Final = {"cdata": "CDATA", "html": "HTML comments", "js": "comments"}


def load_json(text: str) -> tuple[Any, Counter[str]]:
    """Return the value of a block, and the number of repairs by kind of damage.

    Several values in a row become a list.

    Raises:
        SourceFault: `SYNTAX` or `TOO_DEEP`: the block is beyond repair.

    >>> load_json('{"a": [1, 2,], /* b */ }')
    ({'a': [1, 2]}, Counter({'trailing commas': 2, 'comments': 1}))
    """
    repairs: Counter[str] = Counter()
    if text.startswith("\ufeff"):
        repairs["byte order mark"] += 1
        text = text.lstrip("\ufeff")
    with suppress(ValueError):
        return _loads(text), repairs
    text = _repair(text, repairs)
    with suppress(ValueError):  # a quote in a comment hid the rest from the first check
        return _loads(text), repairs
    return _load_loosely(text, repairs), repairs


def _loads(text: str) -> Any:
    if is_json_too_deep(text.encode("utf-8", "replace")):
        detail = f"JSON nested deeper than {MAX_DEPTH} levels"
        raise SourceFault(Reason.TOO_DEEP, detail)
    return json.loads(text, parse_constant=refuse_constant)


def _repair(text: str, repairs: Counter[str]) -> str:
    """Remove anything outside strings that JSON does not allow."""
    if any(each[1] is None for each in _ENTITY.finditer(text)):
        repairs["HTML entities"] += 1
        text = html.unescape(text)
    if "<!--" in text:
        text = _without_html_comments(text, repairs)

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup or "string"
        if kind == "string":
            return match[0]
        repairs[_KINDS[kind]] += 1
        return " "

    text, n_commas = _sub_outside(_COMMA, "", _TOKEN.sub(replace, text))
    if n_commas:
        repairs["trailing commas"] += n_commas
    return text


def _without_html_comments(text: str, repairs: Counter[str]) -> str:
    """Remove comments, unless one contains the JSON itself."""
    kept, n_comments = _sub_outside(_HTML_COMMENT, " ", text)
    if "{" not in kept and "[" not in kept:
        return text
    repairs["HTML comments"] += n_comments
    return kept


def _sub_outside(pattern: re.Pattern[str], by: str, text: str) -> tuple[str, int]:
    """Replace matches outside strings; strings are the first group of the pattern."""
    n_replaced = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal n_replaced
        if match[1] is not None:
            return match[1]
        n_replaced += 1
        return by

    return pattern.sub(replace, text), n_replaced


def _load_loosely(text: str, repairs: Counter[str]) -> Any:
    """Parse values despite control characters, wrong escapes and trailing text."""
    escaped, n_escapes = _sub_outside(_BAD_ESCAPE, "", text)
    if n_escapes:
        repairs["wrong escapes"] += n_escapes
    decoder = json.JSONDecoder(strict=False, parse_constant=refuse_constant)
    values: list[Any] = []
    at = 0
    try:
        while len(values) < MAX_VALUES:
            at += len(_BETWEEN.match(escaped, at)[0])  # type: ignore[index]  # always matches
            if at == len(escaped):
                break
            value, at = decoder.raw_decode(escaped, at)
            values.append(value)
    except (ValueError, RecursionError) as error:
        if not values:
            raise SourceFault(Reason.SYNTAX, f"no JSON: {error}") from error
        repairs["text after JSON"] += 1
    if not values:
        raise SourceFault(Reason.SYNTAX, "no JSON: empty")
    strings = re.findall(_STRING, escaped, re.DOTALL)
    if n_control := sum(min(text) < " " for text in strings):
        repairs["control characters"] += n_control
    if len(values) > 1:
        repairs["several values"] += 1
        lists = (value if isinstance(value, list) else [value] for value in values)
        return list(chain.from_iterable(lists))
    if not repairs:
        repairs["text after JSON"] += 1
    return values[0]
