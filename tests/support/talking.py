"""An item pipeline whose errors quote their input."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document


class Talking:
    """Fails with the text of each document."""

    def process_item(self, item: Document) -> Document:
        """Fail.

        Raises:
            ValueError: always.
        """
        raise ValueError((item.response.body or b"").decode())
