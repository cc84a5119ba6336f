"""Detect the host language of a page from its first characters.

XHTML is mostly served as `text/html`. The XML declaration, the document type, and
`xmlns` and `version` of the root select the rules of RDFa.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rdfcrawl.core.namespaces import XHTML

_HEAD_CHARS = 8192

_DECLARATION = re.compile(r"\s*<\?xml[\s?]", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!DOCTYPE\s+([^\s>\[]+)([^>\[]*)", re.IGNORECASE)
_PUBLIC = re.compile(r"""\bPUBLIC\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_NOT_ROOT = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<![^>]*+(?:>|\Z)", re.DOTALL
)
_ROOT = re.compile(r"""<([A-Za-z_][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)""")
_VERSION = re.compile(r"""\sversion\s*=\s*["'][^"'<]*RDFa\s+(1\.[01])""", re.IGNORECASE)


class HostLanguage(StrEnum):
    """A host language of RDFa; each has its own rules."""

    HTML4 = "html4"
    HTML5 = "html5"
    XHTML1 = "xhtml1"
    XHTML5 = "xhtml5"
    SVG = "svg"
    XML = "xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMarkup:
    """Markup of a page; `is_xml` pages may not be well-formed."""

    language: HostLanguage
    is_xml: bool
    rdfa_version: str

    @property
    def is_html(self) -> bool:
        """Whether `head`, `body` and `base` have their HTML meaning."""
        return self.language not in {HostLanguage.SVG, HostLanguage.XML}


def sniff_host(text: str, *, media_type: str = "", version: str = "") -> HostMarkup:
    """Return the host language of a page by its first characters.

    `version` is "1.0" or "1.1" of RDFa, if known from elsewhere.

    Source: RDFa Core 1.1 section 4.1, XHTML+RDFa and HTML+RDFa 1.1 section 2.
    """
    head = text[:_HEAD_CHARS].lstrip("\ufeff")
    doctype = _DOCTYPE.search(head)
    public = _PUBLIC.search(doctype[2]) if doctype else None
    public_id = (public[1] or public[2] or "").upper() if public else ""
    root = _ROOT.search(_NOT_ROOT.sub("", head))
    name = root[1].rpartition(":")[2].lower() if root else ""
    attributes = root[2] if root else ""
    is_xml = (
        media_type.endswith("xml")
        or bool(_DECLARATION.match(head))
        or "XHTML" in public_id
        or (name == "html" and XHTML in attributes)
    )
    found = _VERSION.search(attributes)
    if not found and "+RDFA 1.0" in public_id:
        version = version or "1.0"
    return HostMarkup(
        language=_language(name, public_id, is_xml=is_xml, media_type=media_type),
        is_xml=is_xml,
        rdfa_version=version or (found[1] if found else "1.1"),
    )


def _language(
    root: str, public_id: str, *, is_xml: bool, media_type: str
) -> HostLanguage:
    if is_xml and root == "svg":
        return HostLanguage.SVG
    if is_xml and root != "html" and media_type not in {"", "text/html"}:
        is_xhtml = media_type == "application/xhtml+xml"
        return HostLanguage.XHTML5 if is_xhtml else HostLanguage.XML
    if "XHTML" in public_id:
        return HostLanguage.XHTML1
    if "DTD HTML" in public_id or public_id.startswith("-//IETF"):
        return HostLanguage.HTML4
    return HostLanguage.XHTML5 if is_xml else HostLanguage.HTML5
