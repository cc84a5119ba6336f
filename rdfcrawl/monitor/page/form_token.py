"""What forms of the page have, and those of other sites cannot know."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Final

FIELD: Final = "token"
"""Name of the hidden field."""
HEADER: Final = "X-Rdfcrawl-Control"
"""Header of programs, which the forms of other sites cannot send."""


class FormToken:
    """The token of one process: forms of an earlier one are refused.

    Browsers of before 2020 do not say which site has sent a form. Neither can another
    site read our pages, nor does a frame show them, so it does not know the token.
    """

    def __init__(self) -> None:
        secret = secrets.token_bytes(32)
        self.text: Final = hmac.new(secret, b"form", sha256).hexdigest()

    def is_in(self, value: object) -> bool:
        """Return whether a field has the token."""
        return isinstance(value, str) and hmac.compare_digest(
            value.encode(errors="replace"), self.text.encode()
        )
