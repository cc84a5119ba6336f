"""The rule in the documentation of scraping: on its page, and on any other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.rules import load_rules
from tests.support.examples import examples
from tests.support.pages import read_page
from tests.support.scraped_pages import ScrapedPage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


URL = "https://data.example.org/dataset/roads?lang=de"

_fences = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def documented(language: str) -> str:
    """Return the first block of a language in `docs/reference/scraping.md`."""
    page = read_page("scraping.md")
    return next(found[2] for found in _fences.finditer(page) if found[1] == language)


def dataset(text: str, data_format: pyoxigraph.RdfFormat) -> pyoxigraph.Dataset:
    """Return a canonical data set."""
    found = pyoxigraph.Dataset(pyoxigraph.parse(text.encode(), format=data_format))
    found.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return found


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    """If the documented rule meets the documented page, the documented graph comes."""
    path = tmp_path / "catalogue.yaml"
    path.write_text(documented("yaml"), encoding="utf-8")
    scraped = ScrapedPage(
        load_rules(path), ParsedPage(documented("html").encode(), url=URL)
    )
    wanted = dataset(documented("turtle"), pyoxigraph.RdfFormat.TURTLE)
    found = dataset(scraped.n_quads.decode(), pyoxigraph.RdfFormat.N_QUADS)
    assert set(found) == set(wanted)
    assert scraped.page.links == {
        Link("https://data.example.org/dataset/rivers", Relation.NEXT)
    }
    assert scraped.reasons == {Reason.RULE_REQUIRED: 1}


_PIECES = [
    "<h1>", "</h1>", "<tr class=file>", "<td>", "<a href='", "'>", "</script>", "<li>",
    "<script id=state>", '{"dataset": {"id": 1}}', "<ul class=tags>", "\x00", "\ud800",
    "<!--", "<base href=x>", " lang=de>", "<html", "&#0;", "]]>", "<?x",
]  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(parts=st.lists(st.sampled_from(_PIECES) | st.text(max_size=8), max_size=30))
def test_fuzz_pages(parts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """If a page is anything, statements come that are right, and faults with names."""
    path = tmp_path_factory.getbasetemp() / "documented.yaml"
    if not path.exists():
        path.write_text(documented("yaml"), encoding="utf-8")
    data = "".join(parts).encode("utf-8", "surrogatepass")
    scraped = ScrapedPage(load_rules(path), ParsedPage(data, url=URL))
    assert Reason.PARSE_CRASH not in scraped.reasons
