"""Pages of the RDFa test suite (rdfa.info), made to stay on one loopback host."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.nodes.rdfa import RdfaPage

if TYPE_CHECKING:
    from collections.abc import Iterator

# The host languages that ORCA's RDFa nodes serve, per version.
_FOLDERS = (
    ("rdfa1.0", "html4", "html"),
    ("rdfa1.0", "xhtml1", "xhtml"),
    ("rdfa1.1", "html4", "html"),
    ("rdfa1.1", "html5", "html"),
    ("rdfa1.1", "xhtml1", "xhtml"),
    ("rdfa1.1", "xhtml5", "xhtml"),
)
_SUITE_HOST = b"rdfa.info"
_SUITE_PATH = "/test-suite/test-cases"
_HOST = re.compile(rb"https?://([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::\d+)?(?![\w.-])")
# Terms of RDF itself and of the vocabularies of W3C must not change.
_KEPT_HOSTS = frozenset({b"www.w3.org"})
# Prefixes of RDFa's initial context: a page that uses one without declaring it
# means the true host (https://www.w3.org/2011/rdfa-context/rdfa-1.1).
_INITIAL_PREFIXES = {
    b"cc": b"creativecommons.org",
    b"ctag": b"commontag.org",
    b"dc": b"purl.org",
    b"dc11": b"purl.org",
    b"dcterms": b"purl.org",
    b"foaf": b"xmlns.com",
    b"gr": b"purl.org",
    b"og": b"ogp.me",
    b"rev": b"purl.org",
    b"schema": b"schema.org",
    b"sioc": b"rdfs.org",
    b"v": b"rdf.data-vocabulary.org",
}
_REQUIRED = "#required"


@dataclass(frozen=True, slots=True)
class _Case:
    """One test: where its page lies, page and expected triples as published."""

    path: str
    body: bytes
    turtle: bytes


def read_suite_pages(directory: str, origin: str) -> list[RdfaPage]:
    """Return the suite's pages of one node.

    The suite's host becomes the node's. So does every other host that a page names, in
    the page and in its triples, so that no link leads out of the node; `www.w3.org` and
    the initial context of RDFa are kept. All pages are served as text/html, as ORCA
    does.

    Args:
        directory: the unpacked suite, or a folder above it.
        origin: URL of the node, without a slash at the end.

    Raises:
        ConfigError: there is no suite in the directory.
    """
    return [
        RdfaPage(
            path=case.path,
            content_type="text/html",
            body=_stay(case.body, origin, case.body),
            turtle=_stay(case.turtle, origin, case.body),
        )
        for case in _read_cases(directory)
    ]


@lru_cache(maxsize=2)
def _read_cases(directory: str) -> tuple[_Case, ...]:
    root = _find_root(Path(directory))
    manifest = json.loads((root / "manifest.jsonld").read_bytes())
    cases = tuple(
        case
        for version, language, extension in _FOLDERS
        for test in manifest["@graph"]
        if _is_positive(test, version, language)
        for case in _read_case(root, f"{version}/{language}/{test['num']}", extension)
    )
    if not cases:
        raise ConfigError(f"no pages of the RDFa test suite in {root}")
    return cases


def _find_root(directory: Path) -> Path:
    for pattern in ("manifest.jsonld", "*/manifest.jsonld", "*/*/manifest.jsonld"):
        for manifest in sorted(directory.glob(pattern)):
            if (manifest.parent / "test-cases").is_dir():
                return manifest.parent
    raise ConfigError(
        f"no RDFa test suite (manifest.jsonld, test-cases) in {directory}"
    )


def _is_positive(test: dict[str, Any], version: str, language: str) -> bool:
    """Return whether the test's triples are required of a plain extraction."""
    return (
        version in test["versions"]
        and language in test["hostLanguages"]
        and test.get("expectedResults", True)
        and not test.get("queryParam")
        and str(test.get("classification", "")).endswith(_REQUIRED)
    )


def _read_case(root: Path, name: str, extension: str) -> Iterator[_Case]:
    page = root / "test-cases" / f"{name}.{extension}"
    turtle = page.with_suffix(".ttl")
    if page.is_file() and turtle.is_file():
        path = f"{_SUITE_PATH}/{name}.{extension}"
        yield _Case(path, page.read_bytes(), turtle.read_bytes())


def _stay(text: bytes, origin: str, page: bytes) -> bytes:
    """Put the node's URL in the place of the hosts that the page names."""
    here = origin.encode()
    named = {_SUITE_HOST, *_HOST.findall(page)} - _KEPT_HOSTS
    named -= {
        host
        for prefix, host in _INITIAL_PREFIXES.items()
        if re.search(rb"[\"'\s]%b:\w" % prefix, page)
        and not re.search(rb"(?:[\"'\s]%b:\s|xmlns:%b\b)" % (prefix, prefix), page)
    }
    return _HOST.sub(lambda m: here if m[1] in named else m[0], text)
