"""Functions for the judges of the public test suites: our public API, strict."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import urljoin

import pyoxigraph

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, ContextDocument, ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.html import microdata as microdata_module
from rdfcrawl.rdf.html.extractors import Extractor
from rdfcrawl.rdf.html.jsonld import iter_blocks
from rdfcrawl.rdf.html.microdata import VocabularyRegistry, default_registry
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions as JsonLdOptions
from rdfcrawl.rdf.jsonld.reading import read_json_ld_value
from rdfcrawl.rdf.output import QuadOutput
from rdfcrawl.rdf.parse import parse
from rdfcrawl.sources.resourcesync.documents import DocumentEntries as SourceReading
from tests.support.nasty_statements import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.rdf.extraction.messages import ExtractOutcome
    from rdfcrawl.rdf.parse import DocumentParser
    from rdfcrawl.sources.resourcesync.documents import RsLink

_OPTIONS_OF_THE_API = {"expandContext", "rdfDirection", "produceGeneralizedRdf"}
_JSON_LD_TESTS = "https://w3c.github.io/json-ld-api/tests/"

# test-registry.json of the Microdata suite, next to our own registry
_MICRODATA_REGISTRY = {
    "http://expansion/": {
        "properties": {
            "subPropertyOf": {"subPropertyOf": RDF + "type"},
            "equivalentProperty": {"equivalentProperty": RDF + "type"},
        }
    }
}


def as_stored(chunks: Iterable[bytes]) -> str:
    """Return the statements that a segment returns; the judge parses them itself.

    Raises:
        AssertionError: another reader refuses it.
    """
    with TemporaryDirectory() as folder:
        n_quads = asyncio.run(stored(chunks, Path(folder)))
    try:
        list(pyoxigraph.parse(n_quads, pyoxigraph.RdfFormat.N_QUADS))
    except SyntaxError as error:
        raise AssertionError("no N-Quads") from error
    return n_quads.decode()


def n_quads(data: bytes, media_type: str, base: str) -> str:
    """Return the N-Quads of a document; raise if anything in it was refused."""
    parsed = parse(data, media_type=media_type, url=base, graph=None, trust="all")
    return _whole(parsed, parsed)


def _whole(
    chunks: Iterable[bytes], reading: DocumentParser | ExtractOutcome, *allowed: Reason
) -> str:
    """Return the statements as stored; raise if anything was refused."""
    text = as_stored(chunks)
    right = {Reason.EMPTY, *allowed}
    faults = [
        fault
        for fault in reading.faults
        # RDF 1.2 ignores triple terms and directions then, and this is noted.
        if fault.reason not in right and "without rdf:version" not in fault.detail
    ]
    if faults or reading.is_partial:
        raise SyntaxError(str(faults))
    return text


def _page(
    data: bytes, url: str, media_type: str, extractor: Extractor
) -> DocumentReading:
    """Return the reading of a page by one extractor."""
    job = ReadingJob(
        url=url.partition("#")[0],
        graph=None,
        media_type=media_type,
        trust="all",
        extractors=frozenset({extractor}),
    )
    return DocumentReading(data, job, environment=ReaderContext(is_bounded=True))


def microdata(html: bytes, base: str) -> str:
    """Return the N-Quads of a page's Microdata, with the registry of the suite."""
    vocabularies = VocabularyRegistry.of({**default_registry(), **_MICRODATA_REGISTRY})
    with patch.object(microdata_module, "default_vocabularies", lambda: vocabularies):
        reading = _page(html, base, "text/html", Extractor.MICRODATA)
        return _whole(reading, reading.outcome, Reason.REPAIRED)


class _Suite:
    """The suite's own files as the source of contexts."""

    def __init__(self, load: Callable[[str], tuple[bytes, str, str]]) -> None:
        self._load = load

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a file of the suite."""
        del document_url
        content, _, found = self._load(url)
        return ContextDocument(url=found, content=content)


def json_ld(
    data: bytes,
    content_type: str,
    base: str,
    options: dict[str, Any],
    load: Callable[[str], tuple[bytes, str, str]],
) -> str:
    """Return the N-Quads of a document or page of the suite of JSON-LD's API.

    Options of the suite that `parse` does not have go to the reader below it, and then
    the same way as all others.
    """
    environment = ReaderContext(contexts=_Suite(load), is_bounded=True)
    is_page = content_type in {"text/html", "application/xhtml+xml"}
    mode = options.get("processingMode", "json-ld-1.1")
    has_options = mode != "json-ld-1.1" or _OPTIONS_OF_THE_API.intersection(options)
    if not is_page and not has_options:
        parsed = parse(
            data,
            media_type=content_type,
            url=base,
            base=options.get("base"),
            graph=None,
            trust="all",
            environment=environment,
        )
        chunks = list(parsed)
        if not any(x.reason is Reason.REPAIRED for x in parsed.faults):
            # Statements with terms that RDF lacks must be dropped (section 8.2).
            return _whole(chunks, parsed, Reason.BAD_TERM)
    value, given = _value(data, base, options) if is_page else (json.loads(data), base)
    context = options.get("expandContext", "")
    log = FaultLog()
    blocks = read_json_ld_value(
        value,
        options=JsonLdOptions(
            base=given if is_page else options.get("base", base),
            context_url=urljoin(_JSON_LD_TESTS, context) if context else "",
            rdf_direction=options.get("rdfDirection", ""),
            processing_mode=mode,
            mends=False,
        ),
        environment=environment,
        log=log,
    )
    output = QuadOutput(
        url=base, graph=None, trust="all", limits=DEFAULT_LIMITS, log=log
    )
    return as_stored(output.chunks(blocks, has_graphs=True))


def _value(data: bytes, base: str, options: dict[str, Any]) -> tuple[Any, str]:
    """Return the JSON-LD of a page as the API wants it, and its base."""
    url, _, fragment = options.get("base", base).partition("#")
    page = ParsedPage(data, url=url)
    blocks = iter_blocks(page, fragment or base.partition("#")[2])
    values = [json.loads(text) for text, _ in blocks]
    if options.get("extractAllScripts", False):
        # The suite wants one array of all blocks; pages are read block by block.
        lists = (value if isinstance(value, list) else [value] for value in values)
        return [entry for entries in lists for entry in entries], page.base
    return (values[0] if values else []), page.base


def rdfa(data: bytes, media_type: str, base: str, version: str, query: str) -> str:
    """Return the N-Triples of a page's RDFa."""
    del version, query
    return as_stored(_page(data, base, media_type, Extractor.RDFA))


def rdfa_as_html(
    data: bytes, media_type: str, base: str, version: str, query: str
) -> str:
    """Return the same for a page that is always served as HTML."""
    del media_type
    return rdfa(data, "text/html", base, version, query)


def resource_sync(body: bytes, url: str) -> dict[str, Any]:
    """Return the facts of a ResourceSync document."""
    log = FaultLog()
    reading = SourceReading(body, url=url, log=log)
    entries = list(reading)
    if not reading.is_complete or log.count(Reason.REPAIRED):
        raise SyntaxError(str(log.all()))

    def links(of: tuple[RsLink, ...]) -> list[dict[str, str]]:
        return [{"rel": x.rel, "href": x.href, **x.facts.attributes} for x in of]

    return {
        "index": reading.heading.is_index,
        "md": dict(reading.heading.facts.attributes),
        "ln": links(reading.heading.links),
        "items": [
            {
                "loc": entry.loc,
                "lastmod": entry.lastmod or None,
                "md": dict(entry.facts.attributes),
                "ln": links(entry.links),
            }
            for entry in entries
        ],
    }
