"""Replies of an FTP server as equivalent HTTP statuses.

=========================== ====== ==========================================
Reply (RFC 959 4.2)         Status Meaning
=========================== ====== ==========================================
150, 226, 250               200    success
the path is a directory     301    its URL has a trailing slash
not modified since          304    `MDTM` and `SIZE` are unchanged
501                         400    invalid path
331, 332, 430, 530, 532     401    login refused
534, 550 "denied", 553      403    access denied
550, 551                    404    not found
450, 451, 452, 552          500    temporary failure
500, 502, 504               501    not implemented
425, 426                    502    no data connection
120, 421, 530 "too many"    503    the host refuses requests
=========================== ====== ==========================================

550 covers all errors of files, and 530 all errors of users: their text decides.
"""

from __future__ import annotations

import re
from typing import Final

_CODES: Final = {
    400: (501,),
    401: (331, 332, 430, 530, 532),
    403: (534, 553),
    404: (550, 551),
    500: (450, 451, 452, 503, 552),
    501: (500, 502, 504),
    502: (425, 426),
    503: (120, 421),
}
_STATUSES: Final = {code: status for status in _CODES for code in _CODES[status]}
_IS_CROWDED = re.compile(
    r"too many|try (?:again|later)|\bbusy\b|overload|limit reached"
    r"|\bmax(?:imum)?\b.{0,200}?(?:users|clients|connections)"
    r"|(?:user|client|connection)s? limit",
    re.IGNORECASE | re.DOTALL,
).search
_IS_MISSING = re.compile(
    r"no such|not found|(?:does not|doesn't) exist|can(?:not|'t) find", re.IGNORECASE
).search
_IS_DENIED = re.compile(
    r"permission|denied|forbidden|not (?:allowed|permitted|authori[sz]ed)"
    r"|\b(?:ssl|tls)\b",
    re.IGNORECASE,
).search
_MINUTES = re.compile(r"\b([0-9]{1,4})\s*min", re.IGNORECASE).search
MAX_MINUTES: Final = 24 * 60


class FtpRefused(Exception):
    """The server refuses, by a reply code and a text of any number of lines."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.text = reply
        self.code = int(reply[:3]) if reply[:3].isdecimal() else 0

    @property
    def status(self) -> int:
        """The equivalent HTTP status."""
        return status_of(self.code, self.text)

    @property
    def retry_after(self) -> str:
        """Seconds to wait, if a reply 120 names minutes; else empty."""
        minutes = _MINUTES(self.text) if self.code == 120 else None
        return str(60 * min(int(minutes[1]), MAX_MINUTES)) if minutes else ""

    @property
    def is_unknown_command(self) -> bool:
        """Whether the server does not know the command."""
        return self.code in (500, 502, 504)


def status_of(code: int, text: str) -> int:
    """Return the equivalent HTTP status of a reply.

    >>> status_of(550, "550 No such file"), status_of(421, "421 Timeout")
    (404, 503)
    """
    if code == 530 and _IS_CROWDED(text):
        return 503
    if code == 550 and _IS_DENIED(text) and not _IS_MISSING(text):
        return 403
    known = _STATUSES.get(code)
    if known is not None:
        return known
    return 500 if code < 500 else 501
