"""The exceptions, and the closed list of faults of a document.

The class of an exception determines who acts: `ConfigError` the operator, `SourceFault`
the publisher (the crawl counts it and continues), `StoreFault` the store (retried),
`CrawlGone` the operator (the crawl has ended while its worker ran). A `FaultLog` counts
the faults of one document while it is read.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

# Errors of a disk that may pass: full, over quota, disconnected.
PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
# Too many open files.
NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})

_word: Final = re.compile(r"[^\s'\"<>]+")
_authority: Final = re.compile(r"[^/?#]*")
_is_hidden: Final = re.compile(r"[^/?#:@]*:(?:\*\*\*|password)@").match  # or example
_MAX_REFUSED: Final = 1000  # URLs of a document; the log of decisions takes as many
MAX_APART: Final = 100  # of a document; further ones are counted by reason


def hide_logins(text: str, instead: str = "***@") -> str:
    """Hide users and passwords in the URLs of a text.

    Everything that may be part of a password is removed.

    >>> hide_logins("argument seeds=http://me:p@ss/w#rd@a.example/x: no URL")
    'argument seeds=http://***@a.example/x: no URL'
    >>> hide_logins("http://a.example/@someone")
    'http://a.example/@someone'
    """
    if "://" not in text or "@" not in text:
        return text
    return _word.sub(lambda found: _hide_login(found[0], instead), text)


def _hide_login(word: str, instead: str) -> str:
    """Hide the login of the URLs in a word.

    An unescaped password may look like host and path, so everything up to the last `@`
    is hidden.
    """
    at, end = word.find("://"), word.rfind("@")
    while 0 <= at < end:
        begin = at + len("://")
        is_store = word.endswith(("+http", "+https"), 0, at)
        authority = _authority.match(word, begin)
        has_login = authority is not None and bool({":", "@"} & {*authority[0]})
        if is_store or (has_login and not _is_hidden(word, begin)):
            return word[:begin] + instead + word[end + 1 :]
        at = word.find("://", begin)
    return word


class Reason(StrEnum):
    """Why a URI or a part of its document was refused.

    A closed set: each member is a statistic (`fault/<reason>`) and a value in the
    provenance, and is described in `docs/reference/faults.md`.
    """

    # the URI
    BAD_URI = "bad_uri"
    HOST_BUDGET = "host_budget"
    DOMAIN_BUDGET = "domain_budget"
    URL_TRAP = "url_trap"
    HOST_COPIES = "host_copies"
    DOMAIN_COPIES = "domain_copies"
    ADDRESS_COPIES = "address_copies"
    SOFT_404 = "soft_404"
    ENDLESS_PAGES = "endless_pages"
    NOT_WANTED = "not_wanted"
    HOST_LEFT = "host_left"
    # the host
    DNS = "dns"
    DNS_UNANSWERED = "dns_unanswered"
    DNS_BLOCKED = "dns_blocked"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    # the response
    BAD_HTTP = "bad_http"
    NOT_FOUND = "not_found"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    HOST_BUSY = "host_busy"
    REDIRECT_LOOP = "redirect_loop"
    REDIRECT_LIMIT = "redirect_limit"
    REDIRECT_BAD_TARGET = "redirect_bad_target"
    TRUNCATED_BODY = "truncated_body"
    BAD_CONTENT_ENCODING = "bad_content_encoding"
    TOO_LARGE = "too_large"
    GUARD_BLOCKED = "guard_blocked"
    NOINDEX = "noindex"
    TDM_RESERVED = "tdm_reserved"
    CONTENT_SIGNAL = "content_signal"
    # the archive
    BAD_ARCHIVE = "bad_archive"
    ENCRYPTED = "encrypted"
    TOO_MANY_MEMBERS = "too_many_members"
    TOO_DEEP = "too_deep"
    # the document
    EMPTY = "empty"
    UNKNOWN_FORMAT = "unknown_format"
    UNSUPPORTED_FORMAT = "unsupported_format"
    NOT_INSTALLED = "not_installed"
    BAD_CHARSET = "bad_charset"
    SYNTAX = "syntax"
    CHECKSUM = "checksum"
    N3_FORMULA = "n3_formula"
    NUL_CHARACTER = "nul_character"
    REPAIRED = "repaired"
    RULE_REQUIRED = "rule_required"
    ENTITY_EXPANSION = "entity_expansion"
    REMOTE_CONTEXT = "remote_context"
    LITERAL_TOO_LONG = "literal_too_long"
    BAD_TERM = "bad_term"
    FOREIGN_GRAPH = "foreign_graph"
    PARSE_SECS = "parse_secs"
    PARSE_CRASH = "parse_crash"
    # the source
    BAD_ANSWER = "bad_answer"
    TOO_MANY_ENTRIES = "too_many_entries"
    CROSS_SITE = "cross_site"
    UNCONFIRMED_CLAIM = "unconfirmed_claim"
    BAD_FIXITY = "bad_fixity"
    UNSUPPORTED_PATCH = "unsupported_patch"
    SAMPLE_DIFFERS = "sample_differs"
    PAGING_LOOP = "paging_loop"
    INCOMPLETE = "incomplete"
    WAY_FAILED = "way_failed"
    COPY_KEPT = "copy_kept"
    # the crawl
    LEASES_LOST = "leases_lost"
    BAD_RECORD = "bad_record"
    INTERNAL = "internal"


class Decision(StrEnum):
    """Why a URI was found but not queued, or queued last, or set aside in the queue.

    A closed set: each member is a statistic (`decision/<reason>`) and a value in the
    log of decisions, and is described in `docs/reference/stores.md`. For a queued URI
    that was not fetched, the provenance has a `Reason`.
    """

    BAD_URI = "bad_uri"
    OUT_OF_SCOPE = "out_of_scope"
    OTHER_DOMAIN = "other_domain"
    NOT_ALLOWED = "not_allowed"
    DENIED = "denied"
    HOST_LEFT = "host_left"
    TOO_DEEP = "too_deep"
    URL_TRAP = "url_trap"
    IGNORED_EXTENSION = "ignored_extension"
    OF_COPY = "of_copy"
    NOFOLLOW = "nofollow"
    NOT_CHOSEN = "not_chosen"
    COVERED = "covered"
    CROSS_SITE = "cross_site"
    NO_RDF = "no_rdf"
    DUPLICATE = "duplicate"
    HOST_BUDGET = "host_budget"
    DOMAIN_BUDGET = "domain_budget"
    UNLIKELY_LAST = "unlikely_last"
    UNLIKELY = "unlikely"


# A part of the document was not read. Repaired errors, and errors in parts that are not
# extracted, are not included.
LOSSES: Final = frozenset(
    {
        *(Reason.TRUNCATED_BODY, Reason.BAD_CONTENT_ENCODING, Reason.TOO_LARGE),
        *(Reason.BAD_ARCHIVE, Reason.ENCRYPTED, Reason.TOO_MANY_MEMBERS),
        *(Reason.TOO_DEEP, Reason.SYNTAX, Reason.CHECKSUM),
        *(Reason.ENTITY_EXPANSION, Reason.REMOTE_CONTEXT, Reason.LITERAL_TOO_LONG),
        *(Reason.BAD_TERM, Reason.PARSE_SECS, Reason.PARSE_CRASH, Reason.BAD_ANSWER),
        *(Reason.TOO_MANY_ENTRIES, Reason.INCOMPLETE, Reason.INTERNAL),
        Reason.NOT_INSTALLED,
    }
)

# Faults of the installation or of code that runs here, ours or the user's, not of the
# document: the summary lists them separately, and they change the exit code.
OWN: Final = frozenset({Reason.NOT_INSTALLED, Reason.PARSE_CRASH, Reason.INTERNAL})

# Losses in bytes that were received completely.
OF_READING: Final = LOSSES - {
    *(Reason.TRUNCATED_BODY, Reason.TOO_LARGE, Reason.NOT_INSTALLED),
    *(Reason.BAD_ANSWER, Reason.TOO_MANY_ENTRIES, Reason.INCOMPLETE, Reason.INTERNAL),
}


# Signs of endless sites.
TRAPS: Final = frozenset(
    {
        *(Reason.URL_TRAP, Reason.HOST_COPIES, Reason.DOMAIN_COPIES),
        *(Reason.ADDRESS_COPIES, Reason.SOFT_404, Reason.ENDLESS_PAGES),
    }
)

# Faults that may pass (`retry=failed`).
MAY_PASS: Final = frozenset(
    {
        *(Reason.DNS, Reason.DNS_UNANSWERED, Reason.DNS_BLOCKED),
        *(Reason.UNREACHABLE, Reason.TIMEOUT),
        *(Reason.TLS, Reason.ROBOTS_UNREACHABLE, Reason.HOST_BUSY, Reason.BAD_HTTP),
        *(Reason.SERVER_ERROR, Reason.TRUNCATED_BODY, Reason.COPY_KEPT),
    }
)
# Requests that the guard refuses. Name services return wrong addresses at times: a name
# with only refused addresses is looked up again later, like one without an address.
GUARDED: Final = frozenset({Reason.GUARD_BLOCKED, Reason.DNS_BLOCKED})


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one document: counted and stored, not raised.

    Attributes:
        detail: for people, one line of at most `MAX_DETAIL` characters; may quote the
            web, so it is escaped before it is shown on a terminal.
        count: number of statements or bytes it stands for; 1 for an event.
        part: of the crawler that failed, such as the name of an extractor, if the
            fault is ours.
    """

    reason: Reason
    detail: str = ""
    count: int = 1
    part: str = ""

    MAX_DETAIL: ClassVar[int] = 300

    @property
    def is_own(self) -> bool:
        """Whether our code, the user's or the installation is at fault: see `OWN`."""
        return self.reason in OWN

    @property
    def is_loss(self) -> bool:
        """Whether a part of the document was not read: see `LOSSES`."""
        return self.reason in LOSSES


def one_line(text: object) -> str:
    """Return a text, or the message of an exception, as the detail of a fault."""
    is_mute = isinstance(text, Exception) and not str(text)
    message = type(text).__name__ if is_mute else str(text)
    return " ".join(message.split())[: Fault.MAX_DETAIL]


# Control characters, and characters that end a line or change its direction.
_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def safe_text(text: object) -> str:
    r"""Return text of the web for a terminal, with control characters escaped.

    >>> safe_text("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], str(text))


class RdfcrawlError(Exception):
    """The root of all exceptions that rdfcrawl raises on purpose."""


class ConfigError(RdfcrawlError):
    """A setting or argument is wrong; shown to the operator as one line.

    Logins in URLs are hidden.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(hide_logins(str(message)))


class SourceFault(RdfcrawlError):
    """The document is at fault; the crawl goes on.

    The code that catches it appends its `Fault` to those of the document.
    """

    def __init__(self, reason: Reason, detail: str = "") -> None:
        detail = hide_logins(detail)[: Fault.MAX_DETAIL]
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.fault = Fault(reason, detail)


class NotWellFormed(SourceFault):
    """The strict parser ends here; a mending reader may read the document."""


class StoreFault(RdfcrawlError):
    """A store could not be written.

    Attributes:
        may_pass: a retry may succeed, as after a full disk, and nothing is torn: the
            crawl waits. Otherwise it stops.
    """

    def __init__(self, message: str = "", *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass


class UnusableStore(StoreFault):
    """A store that cannot be used as configured, for example because of its login.

    The operator may fix it while the crawl runs: the store is retried.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, may_pass=True)


def passing_fault(error: BaseException | None) -> StoreFault | None:
    """Return an error of the system as a fault, if it may pass later."""
    if isinstance(error, StoreFault):
        return error if error.may_pass else None
    if not isinstance(error, OSError) or error.errno not in {*PASSING, *NO_FILES}:
        return None
    where = f": {error.filename}" if error.filename else ""
    fault = StoreFault(f"{error.strerror or error}{where}", may_pass=True)
    fault.__cause__ = error
    return fault


class CrawlGone(RdfcrawlError):
    """Redis no longer has the crawl: its worker stops; shown to the operator."""


class NeedsSandbox(RdfcrawlError):
    """The document must be read in a process with limits; nothing has been read."""


class HeldBack(RdfcrawlError):
    """The reservations of a document are unknown; it goes back to the queue."""


class FaultLog:
    """The faults of a document by reason: their number, and the first detail."""

    __slots__ = ("_faults", "_refused")

    def __init__(self) -> None:
        self._faults: dict[tuple[Reason, str], Fault] = {}
        self._refused: list[tuple[Decision, str]] | None = None

    def refuse(self, why: Decision, url: str) -> None:
        """Note a URL that is not queued, for the log of decisions."""
        if self._refused is None:
            self._refused = []
        if len(self._refused) < _MAX_REFUSED:
            self._refused.append((why, url))

    def take_refused(self) -> list[tuple[Decision, str]]:
        """Return the refused URLs since the last call, with the decisions."""
        refused, self._refused = self._refused, None
        return refused or []

    def note(
        self,
        reason: Reason,
        detail: str = "",
        count: int = 1,
        *,
        apart: bool = False,
        part: str = "",
    ) -> None:
        """Count a fault; with `apart`, there is one per detail, up to `MAX_APART`."""
        key = (reason, detail if apart else "")
        if len(self._faults) >= MAX_APART and key not in self._faults:
            key = (reason, "")
        known = self._faults.get(key)
        if known is None:
            self._faults[key] = Fault(reason, one_line(detail), count, part)
        else:
            self._faults[key] = replace(known, count=known.count + count)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the fault of a block, which ends there."""
        try:
            yield
        except SourceFault as error:
            self.note(error.fault.reason, error.fault.detail)

    def count(self, reason: Reason) -> int:
        """Return the number of faults noted with this reason and not apart."""
        if not self._faults:  # the usual case
            return 0
        known = self._faults.get((reason, ""))
        return known.count if known else 0

    def snapshot(self) -> FaultLog:
        """Return a copy of the state, for `restore`."""
        copy = FaultLog()
        copy._faults = dict(self._faults)  # same class
        return copy

    def restore(
        self, snapshot: FaultLog, *, kept: frozenset[Reason] = frozenset()
    ) -> None:
        """Remove the faults noted since the snapshot, except those `kept`."""
        since = {key: x for key, x in self._faults.items() if key[0] in kept}
        self._faults = snapshot._faults | since  # same class

    def all(self) -> list[Fault]:
        """Return the faults in the order in which their reasons first occurred."""
        return list(self._faults.values())


# Parts that have failed in this process, and the classes of their exceptions.
_logged: set[tuple[str, type[Exception]]] = set()


def fault_of_exception(error: Exception, part: str, url: str) -> Fault:
    """Return the fault of a document on which a part of the crawler has raised.

    Recursion and memory errors are limits that the document has exceeded. Every other
    exception is our fault, and is logged with its traceback once per process, part and
    class.
    """
    if isinstance(error, RecursionError):
        return Fault(Reason.TOO_DEEP, f"{part}: nested too deep")
    if isinstance(error, MemoryError):
        return Fault(Reason.TOO_LARGE, f"{part}: needs too much memory")
    is_missing = isinstance(error, ImportError)
    reason = Reason.NOT_INSTALLED if is_missing else Reason.PARSE_CRASH
    _log_once(error, part, url)
    text = error if is_missing else repr(error)
    return Fault(reason, one_line(f"{part}: {text}"), part=part)


def _log_once(error: Exception, part: str, url: str) -> None:
    from logging import getLogger  # noqa: PLC0415  # a child seldom logs

    kind = part, type(error)
    if kind not in _logged:
        _logged.add(kind)
        text = "%s: %s failed (logged once for each kind of exception)"
        getLogger(__name__).error(text, safe_text(url), part, exc_info=error)


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'rdfcrawl[{extra}]'"


@contextmanager
def needed_by_operator(extra: str, what: str) -> Iterator[None]:
    """Raise `ConfigError` if a library for an option of the operator is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        _check_is_extra(error)
        message = f"{what}: {error.name} is missing: {install_hint(extra)}"
        raise ConfigError(message) from error


@contextmanager
def needed_by_document(extra: str) -> Iterator[None]:
    """Raise the fault `NOT_INSTALLED` of a document if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        _check_is_extra(error)
        raise SourceFault(Reason.NOT_INSTALLED, install_hint(extra)) from error


def _check_is_extra(error: ModuleNotFoundError) -> None:
    """Raise the error if the missing module is ours, and not of an extra."""
    if (error.name or "").partition(".")[0] == __name__.partition(".")[0]:
        raise error
