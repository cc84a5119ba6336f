"""Read Semantic Sitemaps: the datasets of a site, and how to access them.

Both revisions of the extension are supported, with the spellings of their examples:
elements are matched by their local names, in any namespace.

Source: Tummarello, "A Sitemap extension to enable efficient interaction with large
quantity of Linked Data"; Cyganiak, Delbru, Tummarello, "Semantic Web Crawling: A
Sitemap Extension" (revision 8, 2007-11-21).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.sources.sitemaps.entry import (
    ChangeFrequency,
    EntryExtension,
    extension_of,
    read_frequency,
    read_lastmod,
    url_of,
)
from rdfcrawl.uri import BadUri, parse_uri

if TYPE_CHECKING:
    from rdfcrawl.sources.sitemaps.elements import Element

NAMESPACES: Final = frozenset(
    f"http://sw.{host}.org/2007/07/sitemapextension/scschema.xsd"
    for host in ("deri", "deriv")  # both in 3.4 of the first revision
)
DATASET_LEAVES: Final = frozenset(
    {
        *("datadump", "datadumplocation", "datafragmentdump"),
        *("datafragmentdumplocation", "sparqlendpoint", "sparqlendpointlocation"),
        *("sparqlgraphname", "linkeddataprefix", "dataseturi", "datasetlabel"),
        "sampleuri",
    }
)
ALL_GRAPHS: Final = "*"
MAX_PRIORITY: Final = 1_000_000
_IRI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ufdd0\ufffd]+"
).fullmatch
_PRIORITY = re.compile(r"\+?[0-9]{1,9}").fullmatch


class Slicing(StrEnum):
    """The extent of the description of one resource."""

    SUBJECT = "subject"
    SUBJECT_OBJECT = "subject-object"
    CBD = "cbd"
    SYMMETRIC_CBD = "scbd"
    MSG = "msg"


_SLICINGS: Final = {
    "subject": Slicing.SUBJECT,
    "subjectobject": Slicing.SUBJECT_OBJECT,
    "cbd": Slicing.CBD,
    "conciseboundeddescription": Slicing.CBD,
    "scbd": Slicing.SYMMETRIC_CBD,
    "symmetriccbd": Slicing.SYMMETRIC_CBD,
    "symmetricconciseboundeddescription": Slicing.SYMMETRIC_CBD,
    "msg": Slicing.MSG,
    "msgs": Slicing.MSG,
    "minimalselfcontainedgraph": Slicing.MSG,
    "minimalselfcontainedgraphs": Slicing.MSG,
}


@dataclass(frozen=True, slots=True)
class DataLocation:
    """A requestable place of data of a dataset; `slicing` is of DESCRIBE.

    `priority` is its weight among the mirrors; 0: used only if the others fail.
    """

    url: str
    priority: int = 1
    slicing: Slicing | None = None


@dataclass(frozen=True, slots=True)
class UriPrefix:
    """Prefix of URIs that resolve to descriptions of a dataset.

    `iri` is unparsed: names in the data begin with it. `url` is requestable, with its
    fragment.
    """

    iri: str
    url: str
    slicing: Slicing | None = None

    def covers(self, url: str) -> bool:
        """Return whether a requestable URL has this prefix.

        A prefix with a fragment covers only its document.
        """
        document, mark, _ = self.url.partition("#")
        return url == document if mark else url.startswith(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapDataset:
    """A dataset declared by a sitemap."""

    position: int = 0  # in the sitemap, among its entries, from 0
    label: str = ""
    language: str = ""
    uri: str = ""  # of the dataset, unparsed, or empty
    prefixes: tuple[UriPrefix, ...] = ()  # of URIs that resolve to its parts
    # each complete if `are_mirrors`, otherwise a part
    dumps: tuple[DataLocation, ...] = ()
    fragments: tuple[DataLocation, ...] = ()  # dumps of parts
    # dumps of parts of an otherwise missing dataset
    parts_left: tuple[DataLocation, ...] = ()
    endpoints: tuple[DataLocation, ...] = ()  # SPARQL endpoints with the same data
    # named graphs of the endpoint with its data; `*` is all of them. Empty: the default
    # graph.
    graphs: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()  # URIs in it, unparsed
    lastmod: str = ""  # a W3C datetime
    changefreq: ChangeFrequency | None = None
    others: tuple[EntryExtension, ...] = ()  # elements of neither revision
    # several dumps are mirrors, not parts; see `_are_mirrors`
    are_mirrors: bool = True


def read_dataset(
    element: Element, *, position: int, base: str, log: FaultLog, max_values: int
) -> SitemapDataset | None:
    """Return the dataset of a `dataset` element; None if empty.

    `log` receives `BAD_URI` and `SYNTAX` for skipped values, `TOO_MANY_ENTRIES` for
    more than `max_values` children, `INCOMPLETE` for a truncated dataset, which is
    skipped: some of its ways could pass for all of them.
    """
    if not element.is_complete:
        log.note(Reason.INCOMPLETE, "a truncated dataset")
        return None
    if len(element.children) > max_values:
        detail = f"a dataset with more than {counted(max_values, 'element')}"
        log.note(Reason.TOO_MANY_ENTRIES, detail)
        return None
    reading = _Reading(base, log)
    for child in element.children:
        reading.read(child)
    return reading.dataset(position)


class _Reading:
    def __init__(self, base: str, log: FaultLog) -> None:
        self._base, self._log = base, log
        self._texts: dict[str, list[str]] = {}
        self._places: dict[str, dict[str, DataLocation]] = {}
        self._prefixes: dict[str, UriPrefix] = {}
        self._language = ""
        self._others: list[EntryExtension] = []
        self._has_priority: set[str] = set()  # kinds of places
        self._has_slicing = False

    def read(self, child: Element) -> None:
        match name := child.local.lower():
            case "datadumplocation" | "datadump":
                self._place("dump", child)
            case "datafragmentdump" | "datafragmentdumplocation":
                self._place("fragment", child)
            case "sparqlendpoint" | "sparqlendpointlocation":
                self._place("endpoint", child)
            case "linkeddataprefix":
                self._prefix(child)
            case "datasetlabel":
                self._texts.setdefault(name, []).append(" ".join(child.text.split()))
                self._language = self._language or child.attribute("lang") or ""
            case "dataseturi" | "sampleuri":
                self._iri(name, child)
            case "sparqlgraphname":
                if child.text.strip() == ALL_GRAPHS:
                    self._texts.setdefault(name, []).append(ALL_GRAPHS)
                else:
                    self._iri(name, child)
            case "lastmod" | "changefreq":
                self._texts.setdefault(name, []).append(child.text)
            case _:
                self._others.append(extension_of(child, 100))

    def dataset(self, position: int) -> SitemapDataset | None:
        """Return the dataset; None if empty."""
        if not (self._texts or self._places or self._prefixes or self._others):
            self._log.note(Reason.EMPTY, "an empty dataset")
            return None
        dumps = self._all("dump")
        fragments = self._all("fragment")
        if len(fragments) == 1:
            self._log.note(Reason.SYNTAX, "a dump with one fragment")
        lastmod = read_lastmod(self._one("lastmod"), self._log)
        return SitemapDataset(
            position=position,
            label=self._one("datasetlabel"),
            language=self._language,
            uri=self._one("dataseturi"),
            prefixes=tuple(self._prefixes.values()),
            dumps=dumps,
            fragments=fragments,
            endpoints=self._all("endpoint"),
            graphs=tuple(dict.fromkeys(self._texts.get("sparqlgraphname", ()))),
            samples=tuple(dict.fromkeys(self._texts.get("sampleuri", ()))),
            lastmod=lastmod.text if lastmod else "",
            changefreq=read_frequency(self._one("changefreq"), self._log),
            others=tuple(self._others),
            are_mirrors=self._are_mirrors(),
        )

    def _are_mirrors(self) -> bool:
        """Return whether several dumps are mirrors, by features of only one revision.

        They are mirrors in the first revision (2.1), where parts are fragments; and
        parts in the second (3), which has neither fragments nor priorities. Without
        evidence, all are fetched: treating mirrors as parts wastes requests, treating
        parts as mirrors loses data.
        """
        if "dump" in self._has_priority:
            return True
        if self._has_slicing or "sparqlgraphname" in self._texts:
            return False
        return bool(self._has_priority or self._places.get("fragment"))

    def _one(self, name: str) -> str:
        """Return the only text of this name, or the first."""
        texts = dict.fromkeys(self._texts.get(name, ()))
        if len(texts) > 1:
            self._log.note(Reason.SYNTAX, f"more than one {name} in a dataset")
        return next(iter(texts), "")

    def _all(self, kind: str) -> tuple[DataLocation, ...]:
        return tuple(self._places.get(kind, {}).values())

    def _place(self, kind: str, child: Element) -> None:
        text = child.text
        if child.children:
            self._log.note(Reason.BAD_URI, f"markup in a URL: {text.strip()[:200]!r}")
            return
        url = url_of(text, self._base, self._log)
        if url:
            place = DataLocation(url, self._priority(kind, child), self._slicing(child))
            self._places.setdefault(kind, {}).setdefault(url, place)

    def _priority(self, kind: str, child: Element) -> int:
        text = child.attribute("priority")
        if text is None:
            return 1
        if _PRIORITY(text.strip()):
            self._has_priority.add(kind)
            return min(int(text), MAX_PRIORITY)
        self._log.note(Reason.SYNTAX, f"not a priority:  {text[:60]!r}")
        return 1

    def _slicing(self, child: Element) -> Slicing | None:
        text = child.attribute("slicing")
        if text is None or not text.strip():
            return None
        self._has_slicing = True
        slicing = _SLICINGS.get(re.sub(r"[^a-z]", "", text.lower()))
        if slicing is None:
            self._log.note(Reason.SYNTAX, f"not a slicing method: {text[:60]!r}")
        return slicing

    def _prefix(self, child: Element) -> None:
        iri = self._checked(child)
        try:
            url = parse_uri(iri) if iri else ""
        except BadUri as error:
            self._log.note(error.fault.reason, error.fault.detail)
            return
        if url.startswith(("http://", "https://")):
            # An authority without a path is a host, not a prefix of host names.
            iri = url if len(url) == len(iri) + 1 else iri
            self._prefixes.setdefault(url, UriPrefix(iri, url, self._slicing(child)))
        elif iri:
            self._log.note(Reason.BAD_URI, f"a prefix that is not crawled: {iri[:200]}")

    def _iri(self, name: str, child: Element) -> None:
        if iri := self._checked(child):
            self._texts.setdefault(name, []).append(iri)

    def _checked(self, child: Element) -> str:
        text = child.text.strip()
        if not child.children and _IRI(text):
            return text
        self._log.note(Reason.BAD_URI, f"not an absolute IRI: {text[:200]!r}")
        return ""
