"""The task of a record that is an ordinary request of a user's spider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RequestTask:
    """What a request is beside its URL, as far as it can be kept."""

    TAG: ClassVar = "request"

    callback: str = ""  # method of the spider; empty for its `parse`
    errback: str = ""  # method of the spider; empty if there is none
    method: str = "GET"  # of HTTP
    body: str = ""  # in Base64
    nonce: str = ""  # what sets a request apart that is to be sent in any case
    headers: tuple[tuple[str, str], ...] = ()  # names and values, in Latin-1
    # `meta`, `cb_kwargs`, `cookies`, `flags` and `encoding`, those that it has, as an
    # object in JSON
    details: str = ""

    @property
    def identity(self) -> str:
        """What two requests for one URL differ in."""
        return f"{self.method} {self.body} {self.nonce}"
