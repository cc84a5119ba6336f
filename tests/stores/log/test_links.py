"""The log of links is read while it grows, from any place on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rdfcrawl.stores.log.links import DocumentLinks, LinkLog
from rdfcrawl.stores.nquads import document_mark, recover
from rdfcrawl.stores.segments import QuadSegments
from tests.support.pages import blocks, read_page

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LINE = b"<http://p/knows> <http://e/%d>\n"


def written(n: int, version: int = 1) -> DocumentLinks:
    """Return the links of a document that has n of them."""
    links = tuple((f"http://e/{k}", "http://p/knows") for k in range(n))
    return DocumentLinks(f"http://e/doc/{n}", version, links)


async def write(folder: Path, numbers: list[int], *, ends: bool = True) -> None:
    """Write documents with so many links each, a member for each."""
    segments = QuadSegments(folder, "w", form="txt")
    for n in numbers:
        lines = b"".join(LINE % k for k in range(n))
        segments.write_document(document_mark(f"http://e/doc/{n}", 1) + lines)
        await segments.flush()
    if ends:
        await segments.close()


def test_log_of_links_is_read_on(tmp_path: Path) -> None:
    """If reading goes on behind a batch, then nothing is missing or comes twice."""
    log = LinkLog(tmp_path)
    assert list(log.read()) == []
    asyncio.run(write(tmp_path / "links", [3, 0, 20_000]))
    batches = [batch for batch in log.read() if batch.documents]
    documents = [each for batch in batches for each in batch.documents]
    assert documents == [written(3), written(0), written(20_000)]
    asyncio.run(write(tmp_path / "links", [5]))
    later = [each for x in log.read(batches[1].offsets) for each in x.documents]
    assert later == [written(20_000), written(5)]


def test_torn_end_is_cut_off(tmp_path: Path) -> None:
    """If a worker dies while it writes, then its flushed links are read."""
    asyncio.run(write(tmp_path / "links", [3, 4], ends=False))
    (path,) = (tmp_path / "links").glob("*.txt.gz")
    path.write_bytes(path.read_bytes()[:-5])
    for _ in range(2):
        log = LinkLog(tmp_path)
        assert [x for each in log.read() for x in each.documents] == [written(3)]
        assert not log.damages
        recover(tmp_path / "links")


def test_example_of_the_docs_prints_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the example of the docs is run, then it prints each link."""
    asyncio.run(write(tmp_path / "crawl/linkeddata/links", [2]))
    examples = blocks(read_page("stores.md"), "python")
    (example,) = (each for each in examples if "LinkLog" in each)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "stores.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        f"http://e/doc/2 http://e/{n} http://p/knows" for n in range(2)
    ]


def test_target_with_a_separator_of_lines(tmp_path: Path) -> None:
    """If an IRI has a separator of lines that Unicode knows, then it is not split."""
    segments = QuadSegments(tmp_path / "links", "w", form="txt")
    line = "<http://p/knows> <http://e/\u2028\x85>\n".encode()
    segments.write_document(document_mark("http://e/", 1) + line)
    asyncio.run(segments.close())
    (found,) = (x for each in LinkLog(tmp_path).read() for x in each.documents)
    assert found.links == (("http://e/\u2028\x85", "http://p/knows"),)
