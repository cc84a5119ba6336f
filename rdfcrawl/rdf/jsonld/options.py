"""How a document of JSON-LD is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RdfDirection = Literal["", "i18n-datatype", "compound-literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLdReaderOptions:
    """How a document is read: what section 9.3 of the JSON-LD 1.1 API names.

    Attributes:
        base: resolves relative IRIs.
        context_url: of a context before those of the document, of a `Link` header.
        scope: blank nodes of one scope are those of another only if it is the same.
        rdf_direction: how the base direction of text is written; not, if empty.
        processing_mode: `json-ld-1.0` refuses what came later.
    """

    base: str
    context_url: str = ""
    scope: str = ""
    rdf_direction: RdfDirection = ""
    processing_mode: Literal["json-ld-1.1", "json-ld-1.0"] = "json-ld-1.1"
