"""An item pipeline that kills its worker, as a document might."""

from __future__ import annotations

import os
import signal

from rdfcrawl.records import Document


class DeadlyPipeline:
    """Dies of each document whose URL says so."""

    def process_item(self, item: object) -> object:
        """Die, or pass on what is harmless or was not fetched."""
        if isinstance(item, Document) and item.status and "deadly" in item.url:
            os.kill(os.getpid(), signal.SIGKILL)
        return item
