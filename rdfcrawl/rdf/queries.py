"""SPARQL: checked terms, queries in user files, and the paging of their results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
from rdfcrawl.rdf import terms

MAX_KEY_CHARS: Final = 400
# SPARQL 1.1, 19.2: escapes are decoded before the query is parsed, so an escaped
# `>` would end the IRI; some implementations also decode them after `\\`.
_BAD_TEXT: Final = re.compile(r"[\\\ud800-\udfff\x00]")


def is_safe(key: str) -> bool:
    """Return whether a key is safe in queries and tasks, and sorts in comparison order.

    Virtuoso 7 sorts non-ASCII strings in a different order than it compares them.
    """
    return len(key) <= MAX_KEY_CHARS and key.isascii() and not _BAD_TEXT.search(key)


def iri(value: str) -> str:
    """Return an IRI as a term of SPARQL.

    Raises:
        SourceFault: the value has characters that are not allowed in IRIs.
    """
    if terms.has_forbidden(value):
        raise SourceFault(Reason.BAD_TERM, f"not a valid IRI: {value[:100]!r}")
    return f"<{value}>"


def text(value: str) -> str:
    """Return a string as a term of SPARQL.

    Raises:
        SourceFault: the value has characters that are not safe at every endpoint.
    """
    if _BAD_TEXT.search(value):
        raise SourceFault(Reason.BAD_TERM, f"not a safe text: {value[:100]!r}")
    return terms.literal(value)


_PLACEHOLDER = re.compile(r"\{\{([^{}]*+)\}\}")
_KNOWN: Final = ("limit", "offset", "after")
# Comments, strings and IRIs, which are ignored; longest quotes first.
_SKIPPED = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|<[^<>\"{}|^`\\\s]*>"
    r"|\#[^\n]*",
    re.DOTALL,
)
_FORM = re.compile(
    r"\b(SELECT|CONSTRUCT|DESCRIBE|ASK|INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|COPY|MOVE|ADD)\b",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[?$](\w+)")
_LIMIT = re.compile(r"\bLIMIT\b", re.IGNORECASE)
MAX_QUERY_CHARS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuery:
    """A query that returns statements."""

    text: str  # SPARQL, with placeholders
    # SELECT returns rows of ?s ?p ?o and optionally ?g, CONSTRUCT a graph
    form: Literal["select", "construct"]
    # `offset` and `after` repeat the query until there are no results
    paging: Literal["once", "offset", "after"]

    def fill(self, *, limit: int, offset: int, after: str) -> str:
        """Return the query of one page.

        Raises:
            SourceFault: `after` cannot be written in a query.
        """
        values = {"limit": limit, "offset": offset, "after": text(after)}
        return _PLACEHOLDER.sub(
            lambda found: str(values[found[1].strip().lower()]), self.text
        )


def parse_user_query(text: str, *, name: str) -> UserQuery:
    """Parse the query of a file.

    `{{limit}}` is the number of rows of a page, `{{offset}}` the number of previous
    rows, `{{after}}` a string: the last value of ?k, or else of ?s (empty on the first
    page). A query without placeholders is sent once.

    Args:
        text: of the file.
        name: of the file, for messages.

    Raises:
        ConfigError: the query returns no statements or has unknown placeholders; the
            message begins with file and line.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise ConfigError(f"{name}:1: the query is longer than {MAX_QUERY_CHARS} chars")
    bare = _SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found = _FORM.search(bare)
    if found is None:
        raise ConfigError(f"{name}:{_line(bare, len(bare))}: no SELECT or CONSTRUCT")
    form = found[1].lower()
    if form not in ("select", "construct"):
        where = f"{name}:{_line(bare, found.start())}"
        raise ConfigError(f"{where}: {found[1].upper()} returns no statements")
    _check_braces(bare, name)
    if form == "select":
        _check_columns(bare, found.end(), name)
    return UserQuery(
        text=text,
        form="select" if form == "select" else "construct",
        paging=_paging(text, bare=bare, form=form, name=name),
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _check_braces(bare: str, name: str) -> None:
    opened: list[int] = []
    for at, character in enumerate(bare):
        if character == "{":
            opened.append(at)
        elif character == "}":
            if not opened:
                raise ConfigError(f"{name}:{_line(bare, at)}: unmatched closing brace")
            opened.pop()
    if opened:
        line = _line(bare, opened[-1])
        raise ConfigError(f"{name}:{line}: a brace is never closed")


def _check_columns(bare: str, start: int, name: str) -> None:
    end = re.compile(r"\bWHERE\b|\bFROM\b|\{", re.IGNORECASE).search(bare, start)
    head = bare[start : end.start() if end else len(bare)]
    if "*" in re.sub(r"\([^()]*\)", "", head):
        head = bare
    missing = [x for x in ("s", "p", "o") if x not in _VARIABLE.findall(head)]
    if missing:
        names = ", ".join(f"?{x}" for x in missing)
        line = _line(bare, start)
        raise ConfigError(f"{name}:{line}: the query does not select {names}")


def _paging(
    text: str, *, bare: str, form: str, name: str
) -> Literal["once", "offset", "after"]:
    used: dict[str, int] = {}
    for found in _PLACEHOLDER.finditer(text):
        line, word = _line(text, found.start()), found[1].strip().lower()
        if word not in _KNOWN:
            known = ", ".join("{{" + x + "}}" for x in _KNOWN)
            raise ConfigError(f"{name}:{line}: {found[0]} is none of {known}")
        used.setdefault(word, line)
    if "after" in used and "offset" in used:
        line = max(used["after"], used["offset"])
        raise ConfigError(
            f"{name}:{line}: {{{{after}}}} and {{{{offset}}}} exclude each other"
        )
    if "offset" in used and "limit" not in used and not _LIMIT.search(bare):
        line = used["offset"]
        raise ConfigError(f"{name}:{line}: {{{{offset}}}} needs a LIMIT")
    if "after" in used and form != "select":
        raise ConfigError(f"{name}:{used['after']}: {{{{after}}}} needs a SELECT")
    if "after" in used:
        return "after"
    return "offset" if "offset" in used else "once"
