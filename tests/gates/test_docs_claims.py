"""Numbers, lists and rules stated by the pages match the code."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from rdfcrawl.core.errors import LOSSES, Reason
from rdfcrawl.core.formats import FORMATS, PACKING_EXTENSIONS
from rdfcrawl.core.last_copies import SMALL
from rdfcrawl.core.records import MAX_RETRIES
from rdfcrawl.downloader.client import DRAINED_BYTES
from rdfcrawl.downloader.contexts.cache import MAX_SHARED_BYTES
from rdfcrawl.downloader.contexts.download import ContextOptions
from rdfcrawl.downloader.ftp.connection import FtpLimits
from rdfcrawl.downloader.ftp.protocol import status_of
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.parts import OVERLAP_BYTES
from rdfcrawl.downloader.robots.cache import RobotsOptions
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.downloader.robots.policy import MAX_ROBOTS_REDIRECTS
from rdfcrawl.frontier.arguments.seeds import TYPES
from rdfcrawl.frontier.queue import candidate_adder
from rdfcrawl.frontier.queue.options import WorkerOptions
from rdfcrawl.frontier.queue.tables import MAX_DEFERRED
from rdfcrawl.pipelines.items import FIELDS
from rdfcrawl.pipelines.provenance import MAX_FAULTS
from rdfcrawl.rdf.environment import MAX_CONTEXT_BYTES, MAX_CONTEXT_DEPTH, ParseLimits
from rdfcrawl.rdf.extraction.messages import MAX_MEMBERS
from rdfcrawl.rdf.extraction.reading import MAX_PAGE_BYTES
from rdfcrawl.rdf.html.page_links import MAX_LINKS
from rdfcrawl.rdf.output import CHUNK_BYTES
from rdfcrawl.sources.ckan.values import MARGIN_SECS
from rdfcrawl.sources.harvest.dataset_ways import MAX_SAMPLES
from rdfcrawl.sources.harvest.sample_comparison import MAX_SAMPLE_BYTES
from rdfcrawl.sources.sitemaps.entry import SitemapLimits
from rdfcrawl.stores.segments import SegmentLimits
from tests.support.pages import ROOT, read_page

KIB, MIB = 2**10, 2**20
WORDS = {"three": 3, "five": 5}
CONNECTING = {"aiohttp", "http", "requests", "socket", "ssl", "urllib3"}
FRAMEWORKS = {"redis", "scrapy", "scrapy_redis", "twisted"}

_fetch = FetchOptions(user_agent="", spool_dir=ROOT)
_robots = RobotsOptions()
_contexts = ContextOptions()
_sitemap = SitemapLimits()
_segments = SegmentLimits()

# Page, sentence with `#` in the places of numbers, and the values in the code.
NUMBERS = [
    ("architecture.md", "in chunks of at most # KiB", [CHUNK_BYTES / KIB]),
    ("architecture.md", "goes back to the queue, up to # times", [MAX_RETRIES]),
    ("politeness.md", "Each worker has the rules of # of them", [_robots.max_origins]),
    ("politeness.md", "up to # MiB, and as many", [_robots.max_bytes / MIB]),
    ("politeness.md", "fetched with up to # redirects", [MAX_ROBOTS_REDIRECTS]),
    ("politeness.md", "and # KiB of it are read", [MAX_ROBOTS_BYTES / KIB]),
    ("politeness.md", "A remainder of up to # KiB", [DRAINED_BYTES / KIB]),
    ("politeness.md", "than `DOWNLOAD_DELAY`, up to # s", [_robots.max_delay_secs]),
    (
        "politeness.md",
        "for `Retry-After`, up to # hours",
        [_fetch.retry_after_max_secs / 3600],
    ),
    ("politeness.md", "each time, up to # minutes", [_fetch.backoff_max_secs / 60]),
    (
        "politeness.md",
        "(# minutes to # days, a day by default)",
        [_contexts.least_fresh_secs / 60, _contexts.most_fresh_secs / 86_400],
    ),
    (
        "politeness.md",
        "At most # are fetched for one document, of # MiB each",
        [_contexts.most_per_document, MAX_CONTEXT_BYTES / MIB],
    ),
    ("politeness.md", "longer than # KiB compressed", [MAX_SHARED_BYTES / KIB]),
    (
        "sources.md",
        "# entries and # MiB of one sitemap are read, for at most # s of CPU",
        [
            _sitemap.n_entries,
            _sitemap.markup.n_bytes / MIB,
            _sitemap.markup.parse_secs,
        ],
    ),
    ("sources.md", "of CPU, and indexes # deep", [_sitemap.depth]),
    (
        "faults.md",
        "a sitemap took more than # s",
        [_sitemap.markup.parse_secs],
    ),
    ("sources.md", "up to # below each prefix", [MAX_DEFERRED]),
    (
        "sources.md",
        "Up to # of a dataset, of up to # KiB each",
        [MAX_SAMPLES, MAX_SAMPLE_BYTES / KIB],
    ),
    (
        "sources.md",
        "it had more than # and loses more than half",
        [SMALL],
    ),
    ("faults.md", "# s to connect", [_fetch.connect_secs]),
    (
        "faults.md",
        "less than # KiB/s came over # s",
        [_fetch.min_bytes_per_sec / KIB, _fetch.min_rate_after_secs],
    ),
    ("faults.md", "asks for more than # s between", [_robots.max_delay_secs]),
    ("faults.md", "inflated more than #-fold", [_fetch.max_ratio]),
    ("faults.md", "a page is longer than # MiB", [MAX_PAGE_BYTES / MIB]),
    ("faults.md", "with sitemaps than # KiB", [MAX_ROBOTS_BYTES / KIB]),
    ("faults.md", "a page has more than # links", [MAX_LINKS]),
    ("frontier.md", "hold up to # links", [WorkerOptions(name="w").max_buffered]),
    (
        "frontier.md",
        "Calls are cut at # URIs and # keys",
        [candidate_adder.MAX_URIS_PER_CALL, candidate_adder.MAX_KEYS_PER_CALL],
    ),
    ("extraction.md", "at most # MiB, # contexts deep", [1, MAX_CONTEXT_DEPTH]),
    ("ftp.md", "read up to # entries", [FtpLimits().n_entries]),
    ("ftp.md", "the last # KiB that were read", [OVERLAP_BYTES / KIB]),
    ("provenance.md", "the first # members of an archive", [MAX_MEMBERS]),
    ("provenance.md", "the first # faults", [MAX_FAULTS]),
    ("stores.md", "until there is # MiB of them", [_segments.member_bytes / MIB]),
    ("stores.md", "has reached # MiB is finished", [_segments.rotate_bytes / MIB]),
]


def cells(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table under a heading."""
    text = read_page(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[x.strip() for x in line[1:-1].split("|")] for line in lines[2:]]


def in_code(text: str) -> list[str]:
    """Return the code spans."""
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize(
    ("page", "sentence", "values"), NUMBERS, ids=[f"{x[0]}-{x[1]}" for x in NUMBERS]
)
def test_numbers(page: str, sentence: str, values: list[float]) -> None:
    """If a page states a limit, then it is the one that the code keeps."""
    pattern = r"(\d[\d,]*|three|five)".join(map(re.escape, sentence.split("#")))
    found = re.search(pattern.replace(r"\ ", r"\s+"), read_page(page))
    assert found, sentence
    told = [WORDS.get(x) or float(x.replace(",", "")) for x in found.groups()]
    assert told == values


def test_statements_of_one_document() -> None:
    """If the statements of a document are limited, then the page has the number."""
    assert ParseLimits().n_quads == 10**9
    assert "more statements than are read of one document (10^9)" in read_page(
        "faults.md"
    )


def test_number_of_uris_kept_over_a_budget() -> None:
    """If URIs over `max_per_host` are kept, then the page says how many."""
    script = ROOT / "rdfcrawl" / "frontier" / "lua" / "over.lua"
    found = re.search(r"MOST_OVER_OF_KEY = (\d+)", script.read_text(encoding="utf-8"))
    assert found is not None
    told = f"up to {int(found[1]):,} URIs of a host or domain and about a million of"
    assert told in read_page("spiders.md")
    assert candidate_adder.MAX_REFUSED == 10**6


def test_hosts_that_make_a_crowd() -> None:
    """If the single hosts of a domain are limited, then the page has the number."""
    script = ROOT / "rdfcrawl" / "frontier" / "lua" / "prelude.lua"
    assert "CROWD_AFTER = 16\n" in script.read_text(encoding="utf-8")
    assert "beyond the first 16 of a partition are a *crowd*" in read_page(
        "frontier.md"
    )


def test_margin_of_portals() -> None:
    """If a harvest of a portal looks back by an hour, then the page says so."""
    assert MARGIN_SECS == 3600
    assert "with an hour's margin" in read_page("sources.md")


def test_statuses_that_are_tried_again() -> None:
    """If a status is tried again, or refuses a URL, then the page has it there."""
    text = read_page("politeness.md")
    again = re.search(r"\*\*Retries\.\*\* ([\d, ]+), timeouts", text)
    busy = re.search(r"\*\*(\d+), (\d+) and silence\*\* concern one URL", text)
    assert again is not None
    assert busy is not None
    assert set(map(int, again[1].split(", "))) == _fetch.retry_codes
    assert set(map(int, busy.groups())) == _fetch.busy_codes
    told = re.search(r"5xx except 503; ([\d, and]+) after", read_page("faults.md"))
    assert told is not None
    after_tries = {int(x) for x in re.findall(r"\d+", told[1])}
    assert after_tries == {x for x in _fetch.retry_codes if x >= 500}


def test_faults_that_make_a_document_partial() -> None:
    """If a fault makes a document partial, then the page has it among these."""
    text = read_page("faults.md").partition("that is so for ")[2]
    shown = set(in_code(text.partition(", and for ")[0]))
    assert shown == {str(x) for x in LOSSES}, "edit the first paragraph of faults.md"
    assert text.partition(", and for ")[2].startswith(f"`{Reason.BAD_CHARSET}`")


def test_formats_and_their_names() -> None:
    """If a media type or a name is that of a format, then its row has it."""
    told = {
        name: (set(in_code(media_types)), set(in_code(names)))
        for name, media_types, names, _ in cells("extraction.md", "Formats")
    }
    assert told == {
        each.name: (set(each.media_types), {f".{x}" for x in each.extensions})
        for each in FORMATS
    }, "add a row to extraction.md"


def test_names_of_archives() -> None:
    """If a name is that of something packed, then the table has it."""
    rows = cells("extraction.md", "Archives")
    told = set(chain.from_iterable(in_code(names) for _, names in rows))
    assert told == {f".{each}" for each in PACKING_EXTENSIONS}


def test_fields_of_feeds() -> None:
    """If a row of a feed has a field, then the page has it."""
    table = read_page("commands.md").partition("A row of a feed has these fields:")[2]
    lines = table.partition("\n## ")[0].splitlines()
    told = [in_code(line.split("|")[1]) for line in lines if line.startswith("| `")]
    assert {name for names in told for name in names} == set(FIELDS)


def test_types_of_seeds() -> None:
    """If a table of seeds may name a type, then the page has it."""
    text = read_page("spiders.md").partition("| type | kind of URI |")[2]
    told = in_code(re.sub(r"\|[^|\n]*\|\n", "|\n", text.partition("\n\n")[0]))
    assert set(told) == TYPES.keys() - {""}


def test_replies_of_ftp_servers() -> None:
    """If the page gives a reply another status, then so does the code."""
    rows = cells("ftp.md", "Manners")
    told = [
        (int(code), int(status))
        for replies, status in rows
        for code in re.findall(r"\b\d{3}\b(?! with)", replies)
    ]
    assert len(told) > 15
    for code, status in told:
        if code not in (226, 250):
            assert status_of(code, f"{code} No") == status, code


# -- Scrapy ---------------------------------------------------------------------------


def test_private_parts_of_scrapy() -> None:
    """If a file uses more of Scrapy than its interfaces, then the page has the file."""
    private = re.compile(
        r"\b(?:engine|crawler|slot|handler)\._[a-z]|\bscraper\.\w|\b_mw_methods"
    )
    found = {
        str(path.relative_to(ROOT / "rdfcrawl"))
        for path in (ROOT / "rdfcrawl").rglob("*.py")
        if private.search(path.read_text(encoding="utf-8"))
    }
    rows = cells("architecture.md", "Private parts of Scrapy")
    assert {name for files, *_ in rows for name in in_code(files)} == found
