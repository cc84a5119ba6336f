"""Semantic Sitemaps in the vocabulary of either revision.

Source: Tummarello, "A Sitemap extension to enable efficient interaction with large
quantity of Linked Data"; Cyganiak, Delbru, Tummarello, "Semantic Web Crawling: A
Sitemap Extension".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from xml.sax.saxutils import escape, quoteattr

from rdfcrawl.dataweb.nodes.sitemap_formats import NAMESPACE

EXTENSION = "http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"
MISSPELLED = "http://sw.deriv.org/2007/07/sitemapextension/scschema.xsd"


class DatasetNames(StrEnum):
    """Whose names elements have."""

    FIRST = "first"
    SECOND = "second"  # no priorities; several dumps are parts, not mirrors
    EXAMPLES = "examples"  # of the first revision, which differ from its text


@dataclass(frozen=True, slots=True)
class DatasetPlace:
    """Where a dump or an endpoint is, and its weight among the mirrors."""

    url: str
    priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetElement:
    """One `sc:dataset`; empty values are omitted."""

    label: str = ""
    uri: str = ""
    prefixes: tuple[str, ...] = ()
    slicing: str = ""
    dumps: tuple[DatasetPlace, ...] = ()
    fragments: tuple[str, ...] = ()
    endpoints: tuple[DatasetPlace, ...] = ()
    graph_name: str = ""
    samples: tuple[str, ...] = ()
    lastmod: str = ""
    changefreq: str = ""


def write_semantic_sitemap(
    datasets: tuple[DatasetElement, ...], pages: tuple[str, ...], names: DatasetNames
) -> bytes:
    """Write a urlset of datasets and of pages."""
    extension = MISSPELLED if names is DatasetNames.EXAMPLES else EXTENSION
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        f'<urlset xmlns="{NAMESPACE}" xmlns:sc="{extension}">\n',
    ]
    parts += [_write_dataset(one, names) for one in datasets]
    parts += [f"<url><loc>{escape(url)}</loc></url>\n" for url in pages]
    return "".join((*parts, "</urlset>\n")).encode()


def _write_dataset(one: DatasetElement, names: DatasetNames) -> str:
    is_second = names is DatasetNames.SECOND
    slicing = f" slicing={quoteattr(one.slicing)}" if one.slicing else ""
    if names is DatasetNames.FIRST:
        slicing = ""  # it has no such attribute
    endpoint, fragment = "sparqlEndpointLocation", "dataFragmentDump"
    if names is DatasetNames.EXAMPLES:
        endpoint, fragment = "sparqlEndPoint", "dataFragmentDumpLocation"
    parts = [_element("datasetLabel", one.label), _element("datasetURI", one.uri)]
    parts += [_element("linkedDataPrefix", url, slicing) for url in one.prefixes]
    # In the second revision all dumps are merged: the parts replace the complete dump.
    dumps = () if is_second and one.fragments else one.dumps
    for place in dumps:
        parts.append(_element("dataDumpLocation", place.url, _priority(place, names)))
    parts += [
        _element("dataDumpLocation" if is_second else fragment, url)
        for url in one.fragments
    ]
    for place in one.endpoints:
        attributes = _priority(place, names) + slicing
        parts.append(_element(endpoint, place.url, attributes))
    if is_second:
        parts.append(_element("sparqlGraphName", one.graph_name))
        parts.append(_plain("lastmod", one.lastmod))
    parts += [_element("sampleURI", url) for url in one.samples]
    parts.append(_plain("changefreq", one.changefreq))
    return f"<sc:dataset>\n{''.join(parts)}</sc:dataset>\n"


def _priority(place: DatasetPlace, names: DatasetNames) -> str:
    if place.priority is None or names is DatasetNames.SECOND:
        return ""
    return f' priority="{place.priority}"'


def _element(name: str, text: str, attributes: str = "") -> str:
    if not text:
        return ""
    return f"  <sc:{name}{attributes}>{escape(text)}</sc:{name}>\n"


def _plain(name: str, text: str) -> str:
    return f"  <{name}>{text}</{name}>\n" if text else ""
