"""Vocabularies and contexts that come with the package."""

from __future__ import annotations

import json
from pkgutil import get_data
from typing import Any


def read_table(name: str) -> Any:
    """Return the content of a JSON file of this folder."""
    return json.loads(get_data(__name__, f"{name}.json") or b"")
