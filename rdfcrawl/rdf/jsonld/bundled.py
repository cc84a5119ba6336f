"""Load the contexts that come with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


def bundled_context(url: str) -> tuple[str, Any] | None:
    """Return the URL of a bundled context and its document; else None.

    The document is shared: it must not be changed. `url` has no fragment.
    """
    name = _json("index.json").get(url)
    return None if name is None else (url, _json(name))


@cache
def _json(name: str) -> Any:
    text = (files("rdfcrawl") / "data" / "contexts" / name).read_text("utf-8")
    return json.loads(text)
