"""Errors in the responses of SPARQL stores, also in responses with status 200."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Final

from rdfcrawl.core.errors import StoreFault

_MAX_SHOWN: Final = 300
_LOOKED_AT: Final = 64 * 1024
_IRI_OR_STRING: Final = re.compile(
    r'<[a-z][^<>\s"]*>|"(?:[^"\\\n]|\\.)*+"|\\.', re.IGNORECASE
)
_TAG: Final = re.compile(r"<[^<>]*+>")
_ERROR: Final = re.compile(
    r"\b(?:error|exception|failure|failed|fatal|denied|quota)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
_FULL: Final = re.compile(
    r"\bquota\b|no space left|disk (?:is )?full|insufficient storage", re.IGNORECASE
)
_ERROR_KEYS: Final = ("exception", "error", "errors", "errorMessage", "detailedMessage")
_BAD_STATES: Final = frozenset({"error", "failed", "failure"})


class RefusedRequest(StoreFault):
    """A store refuses a request, which need not be invalid.

    Attributes:
        status: of HTTP; 2xx if the response contains an error.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, may_pass=not 400 <= status < 500)
        self.status = status


class BrokenResponse(StoreFault):
    """A store has closed the connection without a response."""

    def __init__(self, message: str) -> None:
        super().__init__(message, may_pass=True)


def is_deadlock(body: bytes) -> bool:
    """Return whether a response reports a deadlock of transactions.

    >>> is_deadlock(b"Virtuoso 40001 Error SR172: Transaction deadlocked")
    True
    """
    return "deadlock" in _IRI_OR_STRING.sub(" ", shown_text(body)).lower()


def is_full(body: bytes) -> bool:
    """Return whether a response reports a full disk or quota.

    >>> is_full(b"Disk quota exceeded"), is_full(b'bad: "no space left"')
    (True, False)
    """
    return _FULL.search(_IRI_OR_STRING.sub(" ", shown_text(body))) is not None


def shown_text(body: bytes) -> str:
    r"""Return the beginning of a response as one printable line.

    >>> shown_text(b"<html><b>Parse error</b>: \x1b[0m line 1</html>")
    'Parse error : ?[0m line 1'
    """
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        text = _TAG.sub(" ", text)
    line = " ".join(text.split())[:_MAX_SHOWN]
    return "".join(x if x.isprintable() else "?" for x in line)


def error_in(body: bytes, media_type: str) -> str | None:
    """Return the error in the response to a write, if any.

    >>> error_in(b'{"status": "ERROR", "exception": "no token"}', "application/json")
    'no token'
    >>> error_in(b"Virtuoso 37000 Error SP031: too long", "text/plain")
    'Virtuoso 37000 Error SP031: too long'
    >>> error_in(b"Insert into <http://e/error>, 3 triples -- done", "text/html")
    """
    if not body.strip():
        return None
    if "json" in media_type or body.lstrip()[:1] in {b"{", b"["}:
        try:
            return _json_error(json.loads(body))
        except ValueError:
            pass
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        text = unescape(_TAG.sub(" ", text))
    bare = _IRI_OR_STRING.sub(" ", text)
    return shown_text(body) if _ERROR.search(bare) else None


def _json_error(found: object) -> str | None:
    if isinstance(found, list):
        return next((x for each in found[:100] if (x := _json_error(each))), None)
    if not isinstance(found, dict):
        return None
    for key in _ERROR_KEYS:
        if found.get(key):
            value = found[key]
            text = value if isinstance(value, str) else json.dumps(value)
            return shown_text(text.encode())
    state = found.get("status")
    if isinstance(state, str) and state.lower() in _BAD_STATES:
        return f"its status is {shown_text(state.encode())}"
    if found.get("success") is False:
        return "it reports no success"
    return None
