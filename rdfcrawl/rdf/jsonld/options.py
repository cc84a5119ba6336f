"""Options of a reader of JSON-LD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RdfDirection = Literal["", "i18n-datatype", "compound-literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLdReaderOptions:
    """Options of section 9.3 of the JSON-LD 1.1 API.

    Attributes:
        base: of relative IRIs.
        context_url: of the context in a `Link` header, before those of the document.
        scope: keeps the blank nodes of several documents in a page apart.
        rdf_direction: form of the base direction of text; none if empty.
        processing_mode: `json-ld-1.0` refuses later features.
    """

    base: str
    context_url: str = ""
    scope: str = ""
    rdf_direction: RdfDirection = ""
    processing_mode: Literal["json-ld-1.1", "json-ld-1.0"] = "json-ld-1.1"
