"""Extract JSON-LD from the script elements of a page.

Source: JSON-LD 1.1 section 7 "Embedding JSON-LD in HTML Documents"; API section 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import JSON_LD
from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.reading import read_json_ld_text

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage


MAX_BLOCKS: Final = 1000
MEDIA_TYPE: Final = "application/ld+json"
_MEANT: Final = frozenset(  # to be the media type, and not another one
    ("ld+json", "text/ld+json", "application/json+ld", "application/json-ld")
) | {"application/jsonld", "text/jsonld", "application/ld-json"}

# Scripts with these profiles contain no data.
_NO_DATA: Final = frozenset((JSON_LD + "context", JSON_LD + "frame"))
_PROFILE = re.compile(
    r""";\s*profile\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]+))""", re.IGNORECASE
)
# For pages that are too deep to be parsed: comments and scripts, as in a tokenizer.
_SCRIPTS = re.compile(
    r"<!--(?:[^-]|-(?!->))*+(?:-->|\Z)"
    r"|<script\b([^<>]*+)>((?:[^<]|<(?!/script))*+)(?:</script|\Z)",
    re.IGNORECASE,
)
_TYPE = re.compile(r"""\stype\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)


def iter_blocks(
    page: ParsedPage, fragment: str = "", log: FaultLog | None = None
) -> Iterator[tuple[str, str]]:
    """Yield text and profiles of a page's JSON-LD scripts, in document order.

    With a fragment, yield only the script with this `id`, or raise `SourceFault`
    (`SYNTAX`: "loading document failed"). A page too deep to be parsed is searched as
    text. `log` takes a `REPAIRED` for each wrong media type.
    """
    if fragment:
        yield _targeted(page, fragment)
        return
    try:
        tree = page.head_tree if page.has_json_ld_in_head_only else page.tree
        nodes = tree.css("script[type]")
    except SourceFault:
        for media_type, text in iter_as_text(page):
            if _is_json_ld(media_type, log):
                yield text, _profile(media_type)
        return
    for node in nodes:
        media_type = node.attributes["type"] or ""
        if _is_json_ld(media_type, log):
            yield node.text(), _profile(media_type)


def extract_json_ld(
    page: ParsedPage, environment: ReaderContext, log: FaultLog
) -> Iterator[bytes]:
    """Yield the statements of all blocks, as canonical N-Quads that may have graphs.

    An unreadable block does not affect the others. Blank nodes are not shared between
    blocks. `log` takes one `REPAIRED` for each kind of damage.

    Raises:
        NeedsSandbox: a context is not available here.
    """
    is_cut = page.data.rfind(b"<script") > page.data.rfind(b"</script")
    for number, (text, profile) in enumerate(iter_blocks(page, log=log)):
        if number == MAX_BLOCKS:
            log.note(Reason.TOO_LARGE, f"more than {MAX_BLOCKS} blocks of JSON-LD")
            return
        if not text.strip() or not _NO_DATA.isdisjoint(profile.split()):
            continue
        try:
            yield from read_json_ld_text(
                text,
                options=JsonLdReaderOptions(
                    base=page.likely_base,
                    scope=f"script{number}",
                    is_whole=not is_cut,
                ),
                environment=environment,
                log=log,
            )
        except SourceFault as error:
            log.note(error.fault.reason, f"json-ld: {error.fault.detail}")


def _is_json_ld(media_type: str, log: FaultLog | None = None) -> bool:
    essence = media_type.partition(";")[0].strip().lower()
    if essence == MEDIA_TYPE:
        return True
    essence = "".join(essence.split()).rstrip(",")
    is_meant = essence == MEDIA_TYPE or essence in _MEANT
    if is_meant and log is not None:
        detail = f"json-ld: a script of type {media_type[:80]!r}"
        log.note(Reason.REPAIRED, detail, apart=True)
    return is_meant


def _profile(media_type: str) -> str:
    return _quoted(_PROFILE.search(media_type))


def _quoted(found: re.Match[str] | None) -> str:
    return (found[1] or found[2] or found[3] or "") if found else ""


def _targeted(page: ParsedPage, fragment: str) -> tuple[str, str]:
    """Return the script with a fragment as `id`: API section 6, step 5."""
    for node in page.tree.css("[id]"):
        if node.attributes["id"] == fragment:
            media_type = node.attributes.get("type") or ""
            if node.tag == "script" and _is_json_ld(media_type):
                return node.text(), _profile(media_type)
            break
    raise SourceFault(Reason.SYNTAX, f"loading document failed: no script {fragment}")


def iter_as_text(page: ParsedPage) -> Iterator[tuple[str, str]]:
    """Yield media type and text of the scripts of a page, without parsing it."""
    for script in _SCRIPTS.finditer(page.text):
        if media_type := _quoted(_TYPE.search(script[1] or "")):
            yield media_type, script[2]
