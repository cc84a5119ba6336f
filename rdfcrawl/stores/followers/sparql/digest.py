"""Digest access authentication (RFC 7616), for the client of a store."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from typing import Final

_PARAMETER: Final = re.compile(
    r'(?<![A-Za-z])([A-Za-z]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]++))'
)
_HASHES: Final = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}


class DigestChallenge:
    """The challenge of a server, and the number of responses to it.

    Args:
        header: `WWW-Authenticate`, from `Digest` on.

    Attributes:
        nonce: of the server.

    Raises:
        ValueError: it requires something that RFC 7616 does not define.
    """

    def __init__(self, header: str) -> None:
        found = {
            name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain
            for name, quoted, plain in _PARAMETER.findall(header)
        }
        self._realm, self.nonce = found["realm"], found["nonce"]
        self._opaque = found.get("opaque")
        self._algorithm = found.get("algorithm", "MD5")
        name = self._algorithm.upper().removesuffix("-SESS")
        if name not in _HASHES:
            raise ValueError(f"algorithm={self._algorithm}")
        self._hash = _HASHES[name]
        self._is_session = self._algorithm.upper().endswith("-SESS")
        offered = [each.strip() for each in found.get("qop", "").split(",")]
        if offered != [""] and "auth" not in offered:
            raise ValueError(f"qop={found['qop']}")
        self._has_qop = offered != [""]
        self._count = 0
        self._lock = threading.Lock()

    def authorization(
        self, method: str, target: str, user: str, password: str, client: str = ""
    ) -> str:
        """Return the header `Authorization` of a request.

        Args:
            method: of HTTP.
            target: path and query.
            user: name of the user.
            password: of the user.
            client: our nonce; random by default.
        """
        with self._lock:
            self._count += 1
            count = f"{self._count:08x}"
        client = client or secrets.token_hex(16)
        first = self._hashed(f"{user}:{self._realm}:{password}")
        if self._is_session:
            first = self._hashed(f"{first}:{self.nonce}:{client}")
        second = self._hashed(f"{method}:{target}")
        middle = f"{self.nonce}:"
        if self._has_qop:
            middle += f"{count}:{client}:auth:"
        fields = {
            "username": user,
            "realm": self._realm,
            "nonce": self.nonce,
            "uri": target,
            "response": self._hashed(f"{first}:{middle}{second}"),
        }
        if self._opaque is not None:
            fields["opaque"] = self._opaque
        text = ", ".join(f'{name}="{_quoted(value)}"' for name, value in fields.items())
        text += f", algorithm={self._algorithm}"
        if self._has_qop:
            text += f', qop=auth, nc={count}, cnonce="{client}"'
        return f"Digest {text}"

    def _hashed(self, text: str) -> str:
        return hashlib.new(self._hash, text.encode()).hexdigest()


def _quoted(value: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", value)
