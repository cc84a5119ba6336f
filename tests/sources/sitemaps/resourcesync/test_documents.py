"""Reading the documents of ResourceSync."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.source_tasks import ResourceChange, SyncCapability, SyncTask
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.sources.resourcesync import documents
from rdfcrawl.sources.resourcesync.describe import describe, describe_document
from rdfcrawl.sources.resourcesync.documents import (
    PATCH,
    DocumentEntries,
    ResourceEntry,
    linked,
)
from rdfcrawl.sources.resourcesync.mirror import StatedResource
from rdfcrawl.sources.resourcesync.plan import follow
from tests.support.examples import examples

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites

URL = "http://example.com/dataset1/changelist.xml"
LIST = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="capabilitylist.xml"/>
  <rs:ln rel="index" href="/index.xml"/>
  <rs:md capability="changelist" from="2013-01-03T00:00:00Z" until="2013-01-04"/>
  <url>
    <loc>http://example.com/res1?a=1&amp;b=2</loc>
    <lastmod>2013-01-03</lastmod><changefreq>daily</changefreq>
    <rs:md change="updated" datetime="2013-01-03T18:00:00.25Z" length="8876"
       hash="md5:1584abdf8ebdc9802ac0c6a7402c03b6
             sha-256:854f61290e2e197a11bc91063afce22e43f8ccc655237050ace766adc68dc784"
       type="Text/HTML; charset=utf-8" encoding="gzip" path="/a/b"/>
    <rs:ln rel="duplicate" pri="2" href="http://mirror2.example.com/res1"/>
    <rs:ln rel="duplicate" pri="1" href="http://mirror1.example.com/res1"/>
    <rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="p"
       type="application/json-patch" modified="2013-01-03T18:00:00Z" length="73"/>
  </url>
  <url>
    <loc>http://example.com/res2</loc>
    <rs:md change="deleted" datetime="2013-01-03T19:00:00Z"/>
  </url>
</urlset>
"""


def read(text: str | bytes, **keywords: object) -> tuple[list[ResourceEntry], FaultLog]:
    """Return the entries of a document and its faults."""
    log = FaultLog()
    body = text.encode() if isinstance(text, str) else text
    return list(DocumentEntries(body, url=URL, log=log, **keywords)), log  # type: ignore[arg-type]


def test_resource_sync_suite_is_passed(suites: Suites) -> None:
    """If the judge runs over the standard's examples, then all is read of all."""
    adapter = ("--adapter", "tests.support.conformance_adapters:resource_sync")
    passed = suites.score("resync_suite.py", suites.checkout("resync"), *adapter)
    assert passed == (455, 455)


def test_a_change_list_is_read() -> None:
    """If a document has all there is, then all of it is there."""
    log = FaultLog()
    reading = DocumentEntries(LIST.encode(), url=URL, log=log)
    heading = reading.heading
    assert heading.facts.capability is SyncCapability.CHANGE_LIST
    assert heading.facts.time("until") == "2013-01-04"
    assert [x.url for x in linked(heading.links, "up")] == [
        "http://example.com/dataset1/capabilitylist.xml"
    ]
    first, second = reading
    assert first.uri == "http://example.com/res1?a=1&b=2"
    assert first.lastmod == "2013-01-03"
    facts = first.facts
    assert facts.change is ResourceChange.UPDATED
    assert (facts.media_type, facts.length) == ("text/html", 8876)
    assert (facts.text("encoding"), facts.text("path")) == ("gzip", "/a/b")
    assert [name for name, _ in facts.fixity.digests] == ["md5", "sha256"]
    mirrors = [x.url for x in linked(first.links, "duplicate")]
    assert mirrors == [f"http://mirror{i}.example.com/res1" for i in (1, 2)]
    (patch,) = linked(first.links, PATCH)
    assert patch.facts.media_type == "application/json-patch"
    assert patch.facts.time("modified") == "2013-01-03T18:00:00Z"
    assert second.facts.change is ResourceChange.DELETED
    assert reading.is_complete
    assert log.all() == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('length="8876"', 'length="-1"', Reason.BAD_ANSWER),
        ('pri="2"', 'pri="first"', Reason.BAD_ANSWER),
        ("md5:15", "md5:1", Reason.BAD_ANSWER),
        ("2013-01-03T00:00:00Z", "yesterday", Reason.BAD_ANSWER),
        ("<lastmod>2013-01-03", "<lastmod>soon", Reason.BAD_ANSWER),
        ('change="updated"', 'change="moved"', Reason.BAD_ANSWER),
        ("<loc>http://example.com/res2</loc>", "", Reason.BAD_URI),
        ("<loc>http://example.com/res2", "<loc>http://a b/", Reason.BAD_URI),
        ('href="/index.xml"', "", Reason.BAD_URI),
        ("urlset", "html", Reason.BAD_ANSWER),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, reason: Reason) -> None:
    """If one thing is wrong, then it has a name, and the rest is read."""
    entries, log = read(LIST.replace(old, new))
    assert [fault.reason for fault in log.all()] == [reason]
    n_whole = {"html": 0, "": 1, "<loc>http://a b/": 1}.get(new, 2)
    assert len(entries) == (2 if "index" in old else n_whole)


@pytest.mark.parametrize("cut", range(40, len(LIST), 37))
def test_what_is_cut_off_is_not_made_up(cut: int) -> None:
    """If a document ends early, then complete entries are read, with a fault."""
    whole, _ = read(LIST)
    log = FaultLog()
    reading = DocumentEntries(LIST[:cut].encode(), url=URL, log=log)
    entries = list(reading)
    assert entries == whole[: len(entries)]
    is_done = LIST[:cut].rstrip().endswith("</urlset>")
    assert reading.is_complete == is_done
    assert is_done or log.all()


def test_a_cut_document_gives_no_part() -> None:
    """If a list is truncated, then its run is not complete."""
    steps = list(follow(LIST.encode(), SyncTask(), url=URL, log=FaultLog()))
    cut = list(follow(LIST[:-10].encode(), SyncTask(), url=URL, log=FaultLog()))
    assert cut == steps[:-1]


@pytest.mark.parametrize(
    "text",
    [
        LIST.replace("sitemaps.org/schemas/sitemap/0.9", "google.com/schemas/x"),
        LIST.replace(' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"', ""),
        LIST.replace('xmlns:rs="http://www.openarchives.org/rs/terms/"', ""),
        LIST.replace("http://www.openarchives", "https://openarchives"),
        LIST.replace("<rs:", "<r2:").replace(":rs=", ":r2="),
        "\ufeff\n" + LIST,
        LIST.replace("</lastmod>", ""),
        LIST.replace("<loc>", "<loc><![CDATA[")
        .replace("</loc>", "]]></loc>")
        .replace("&amp;", "&"),
    ],
    ids=["ns", "no ns", "no rs", "https", "prefix", "bom", "unclosed", "cdata"],
)
def test_what_is_meant_is_read(text: str) -> None:
    """If a document is written as sites write them, then it says the same."""
    entries, _ = read(text)
    assert [entry.uri for entry in entries] == [entry.uri for entry in read(LIST)[0]]
    assert [entry.facts.change for entry in entries] == [
        ResourceChange.UPDATED,
        ResourceChange.DELETED,
    ]


def test_elements_of_others_are_passed_by() -> None:
    """If another vocabulary has elements of these names, then they are not read."""
    foreign = '<x:url xmlns:x="http://x/"><x:loc>http://no/</x:loc></x:url>'
    inner = '<x:md xmlns:x="http://x/" change="deleted"><x:loc>a</x:loc></x:md>'
    text = LIST.replace("<url>", foreign + "<url>" + inner, 1)
    assert read(text)[0] == read(LIST)[0]


def test_entities_do_not_grow() -> None:
    """If entities expand to each other, then they are not, and reading goes on."""
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    bomb = f'<!DOCTYPE urlset [<!ENTITY e0 "ha">{lines}]>'
    text = LIST.replace("<urlset", bomb + "<urlset", 1)
    entries, _ = read(text.replace("/res1?", "/&e11;?"))
    assert len(entries) == 2
    assert len(entries[0].loc) < 100


def test_limits_keep_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a limit is exceeded, then the values before it are kept, with a fault."""
    monkeypatch.setattr(documents, "MAX_ENTRIES", 1)
    entries, log = read(LIST)
    monkeypatch.undo()
    assert (len(entries), log.count(Reason.TOO_MANY_ENTRIES)) == (1, 1)
    monkeypatch.setattr(documents, "MAX_LINKS", 1)
    entries, log = read(LIST)
    monkeypatch.undo()
    assert [len(entry.links) for entry in entries] == [1, 0]
    monkeypatch.setattr(documents, "MAX_BYTES", len(LIST) - 100)
    entries, log = read(LIST)
    monkeypatch.undo()
    assert (len(entries), log.count(Reason.TOO_LARGE)) == (1, 1)
    monkeypatch.setattr(documents, "MAX_VALUE_CHARS", 20)
    entries, log = read(LIST)
    assert (len(entries), log.count(Reason.BAD_URI)) == (0, 4)


def test_reading_goes_on_where_it_ended() -> None:
    """If entries are skipped, then those after them are as they were."""
    whole, _ = read(LIST)
    assert read(LIST, skip=1)[0] == whole[1:]


_VERY_MANY = """
import io, resource
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.content import ByteSource
from rdfcrawl.sources.resourcesync.plan import follow
from rdfcrawl.sources.resourcesync.policy import SyncPolicy
from rdfcrawl.sources.resourcesync.documents import DocumentEntries

HEAD = (b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        b'xmlns:rs="http://www.openarchives.org/rs/terms/">'
        b'<rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>')
ENTRY = b'<url><loc>http://e.example/%d</loc></url>'

class Endless(io.RawIOBase):
    def __init__(self, n):
        self.pieces = self.made(n)
        self.ready = b""
    def made(self, n):
        yield HEAD
        for i in range(0, n, 1000):
            yield b"".join(ENTRY % j for j in range(i, min(n, i + 1000)))
        yield b"</urlset>"
    def readable(self):
        return True
    def readinto(self, buffer):
        self.ready = self.ready or next(self.pieces, b"")
        data = self.ready[:len(buffer)]
        self.ready = self.ready[len(data):]
        buffer[:len(data)] = data
        return len(data)

def rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

def count(n):
    source = ByteSource(stream=io.BufferedReader(Endless(n), 1 << 18))
    reading = DocumentEntries(source, url="http://e.example/list", log=FaultLog())
    n_read = sum(1 for _ in reading)
    assert reading.is_complete
    return n_read

count(1000)
before = rss()
print(count(60000), rss() - before)
"""


def test_very_many_entries_are_read_in_flat_memory() -> None:
    """If a list has 60,000 entries, then memory does not grow with them."""
    done = subprocess.run(
        [sys.executable, "-c", _VERY_MANY], capture_output=True, text=True, check=True
    )
    n_entries, n_mib = map(int, done.stdout.split())
    assert n_entries == 60_000
    assert n_mib < 8


def test_a_resource_becomes_statements() -> None:
    """If a resource is described, then its facts and links are statements."""
    first, second = read(LIST)[0]
    version = StatedResource(
        uri=first.uri,
        as_of_us=1_357_236_000_250_000,
        modified_us=1,
        fixity=first.facts.fixity,
        media_type=first.facts.media_type,
        encoding="gzip",
    )
    log = FaultLog()
    gone = StatedResource(uri=second.uri, change=ResourceChange.DELETED, as_of_us=0)
    lines = [*describe(version, entry=first), *describe(gone)]
    heading = DocumentEntries(LIST.encode(), url=URL, log=log).heading
    lines += describe_document(heading)
    text = b"".join(iter_checked(lines, log)).decode()
    assert log.all() == []
    assert text.count("\n") == len(lines) == 24
    for part in (
        '"8876"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger>',
        '"2013-01-03"^^<http://www.w3.org/2001/XMLSchema#date>',
        "checksumAlgorithm_sha256",
        "<https://www.iana.org/assignments/media-types/text/html>",
        "<http://www.iana.org/assignments/relation/duplicate>",
        "prov#invalidatedAtTime",
    ):
        assert part in text


_PIECES = st.sampled_from(
    [
        *("<urlset>", "</urlset>", "<sitemapindex>", "<url>", "</url>", "<loc>"),
        *("http://example.com/a", "</loc>", "<lastmod>2013", "</lastmod>", "]]>"),
        *("<rs:md capability='changelist' from='2013'/>", "<rs:md change='deleted'"),
        *(" datetime='2013-01-03T18:00:00Z'", "/>", "<rs:ln rel='duplicate' href='b'"),
        *(" hash='md5:00 sha-256:zz'", "<![CDATA[", "<!--", "-->", "&amp;", "&", "\0"),
        *("<rs:md capability='resourcelist'/>", "<!DOCTYPE a [", "]>", "<?x", "é"),
        *("<rs:md capability='capabilitylist'>", "</rs:md>", "<sitemap>", "://", "<"),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_any_document_gives_steps_or_faults(text: str, is_whole: bool) -> None:
    """If a document is anything, then reading it ends, and raises nothing."""
    text = f"<urlset>{text}</urlset>" if is_whole else text
    for entry in read(text)[0]:
        assert entry.uri
    list(follow(text.encode(), SyncTask(), url=URL, log=FaultLog()))


@given(
    st.lists(st.tuples(st.integers(0, len(LIST) - 1), st.integers(0, 255)), max_size=8)
)
@settings(max_examples=examples(120), deadline=None)
def test_a_damaged_document_gives_steps_or_faults(
    places: list[tuple[int, int]],
) -> None:
    """If bytes of a document are others, then reading it raises nothing."""
    data = bytearray(LIST.encode())
    for at, byte in places:
        data[at] = byte
    read(bytes(data))
    list(follow(bytes(data), SyncTask(), url=URL, log=FaultLog()))
