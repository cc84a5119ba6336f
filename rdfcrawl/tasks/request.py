"""The task of a record that is an ordinary request of a user's spider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RequestTask:
    """What a request is beside its URL, as far as it can be kept.

    Attributes:
        callback: method of the spider; empty for its `parse`.
        errback: method of the spider; empty if there is none.
        method: of HTTP.
        body: in Base64.
        nonce: what sets a request apart that is to be sent in any case.
        headers: names and values, in Latin-1.
        details: `meta`, `cb_kwargs`, `cookies`, `flags` and `encoding`, those that it
            has, as an object in JSON.
    """

    TAG: ClassVar = "request"

    callback: str = ""
    errback: str = ""
    method: str = "GET"
    body: str = ""
    nonce: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    details: str = ""

    @property
    def identity(self) -> str:
        """What two requests for one URL differ in."""
        return f"{self.method} {self.body} {self.nonce}"
