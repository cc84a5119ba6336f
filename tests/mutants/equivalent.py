"""Mutants that defend as much as the code does, and why no test can notice them."""

from __future__ import annotations

from typing import Final

EQUIVALENT: Final[dict[str, str]] = {}
