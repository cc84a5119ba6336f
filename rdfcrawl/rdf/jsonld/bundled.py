"""The contexts that come with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final


class BundledContexts:
    """Contexts by URL, read from the package when they are first asked for."""

    def get(self, url: str) -> tuple[str, Any] | None:
        """Return where a context is published and its document, if it is bundled.

        The document is shared: it must not be changed.

        Args:
            url: without fragment.
        """
        name = _index().get(url)
        return None if name is None else (url, _document(name))


BUNDLED: Final = BundledContexts()


@cache
def _index() -> dict[str, str]:
    text = (files("rdfcrawl") / "data" / "contexts" / "index.json").read_text("utf-8")
    return dict(json.loads(text))


@cache
def _document(name: str) -> Any:
    text = (files("rdfcrawl") / "data" / "contexts" / name).read_text("utf-8")
    return json.loads(text)
