"""Options of the JSON-LD reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RdfDirection = Literal["", "i18n-datatype", "compound-literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLdReaderOptions:
    """Options of section 9.3 of the JSON-LD 1.1 API."""

    base: str  # of relative IRIs
    # URL of the context in a `Link` header; applies before those of the document
    context_url: str = ""
    scope: str = ""  # separates the blank nodes of several blocks of a page
    # form of the base direction of text; none if empty
    rdf_direction: RdfDirection = ""
    # `json-ld-1.0` refuses later features
    processing_mode: Literal["json-ld-1.1", "json-ld-1.0"] = "json-ld-1.1"
