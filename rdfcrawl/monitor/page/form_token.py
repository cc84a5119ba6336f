"""A secret of our forms, unknown to forms of other sites."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Final

FIELD: Final = "token"
"""Name of the hidden field."""
HEADER: Final = "X-Rdfcrawl-Control"
"""Header of programs, which forms of other sites cannot send."""


class FormToken:
    """The token of one process: forms of an earlier process are refused.

    Browsers from before 2020 do not name the site of a form. But no site can read our
    pages, or show them in a frame, so it does not know the token.
    """

    def __init__(self) -> None:
        secret = secrets.token_bytes(32)
        self.text: Final = hmac.new(secret, b"form", sha256).hexdigest()

    def is_in(self, value: object) -> bool:
        """Return whether a field has the token."""
        return isinstance(value, str) and hmac.compare_digest(
            value.encode(errors="replace"), self.text.encode()
        )
