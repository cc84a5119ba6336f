"""The description of a crawl that several processes end."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.description import writing
from rdfcrawl.launch import options
from rdfcrawl.launch.options import CrawlDescribing, DescribeMode
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from pathlib import Path

AUTO = CrawlDescribing(mode=DescribeMode.AUTO, n_hosts=10, publisher="me")
ON = CrawlDescribing(mode=DescribeMode.ON, n_hosts=10, publisher="me")


def written(number: int) -> Written:
    """Return a document with one statement."""
    graph = f"http://e.example/{number}"
    return Written(graph, 1, [(graph, "a")])


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a folder with a crawl of one document."""
    root = tmp_path / "people"
    write_log(root, [written(0)])
    return root


def test_large_crawl_is_described_if_wanted(
    crawl: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If a log is large, it is described at the end only if the operator says so."""
    monkeypatch.setattr(options, "_QUICK_BYTES", 1)
    with caplog.at_level("INFO"):
        AUTO.describe_ended(crawl)
    assert not (crawl / "void.ttl").exists()
    assert "export --describe" in caplog.text
    ON.describe_ended(crawl)
    assert "void:triples 1 ;" in (crawl / "void.ttl").read_text()


def test_crawl_without_documents_is_not_described(tmp_path: Path) -> None:
    """If nothing was stored, then there is nothing to describe."""
    ON.describe_ended(tmp_path)
    assert not list(tmp_path.iterdir())


def test_one_process_describes(crawl: Path) -> None:
    """If another process describes the crawl, then this one does not."""
    fd = os.open(crawl, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    ON.describe_ended(crawl)
    assert not (crawl / "void.ttl").exists()
    os.close(fd)
    ON.describe_ended(crawl)
    assert (crawl / "void.ttl").exists()


def test_statements_added_meanwhile_are_described(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a process stores its last while another describes, that is described, too."""
    whole = writing.write_descriptions
    runs = []

    def slow(*arguments: object) -> None:
        whole(*arguments)  # type: ignore[arg-type]
        runs.append(1)
        if len(runs) == 1:
            write_log(crawl, [written(1)], "other")
            ON.describe_ended(crawl)  # it finds the folder locked
            assert len(runs) == 1

    monkeypatch.setattr(writing, "write_descriptions", slow)
    ON.describe_ended(crawl)
    assert len(runs) == 2
    assert "void:triples 2 ;" in (crawl / "void.ttl").read_text()


def test_interrupt_is_one_line(
    crawl: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If Ctrl-C comes while a crawl is described, files and exit are as without it."""

    def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), 2)

    ON.describe_ended(crawl)
    before = (crawl / "void.ttl").read_bytes()
    write_log(crawl, [written(1)], "other")
    monkeypatch.setattr(writing, "describe_all", interrupted)
    ON.describe_ended(crawl)
    assert (crawl / "void.ttl").read_bytes() == before
    assert "stopped before the crawl was described" in caplog.text
    assert not list(crawl.glob(".*draft"))


def test_description_ends_while_others_write(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process writes endlessly, then the description comes to an end."""
    whole = writing.write_descriptions
    runs = []

    def slow(*arguments: object) -> None:
        whole(*arguments)  # type: ignore[arg-type]
        runs.append(1)
        assert len(runs) < 5
        write_log(crawl, [written(len(runs))], f"other{len(runs)}")

    monkeypatch.setattr(writing, "write_descriptions", slow)
    ON.describe_ended(crawl)
    assert len(runs) == 3
    assert (crawl / "void.ttl").exists()


def test_long_provenance_is_not_read_at_the_end(crawl: Path) -> None:
    """If a crawl has found little, and tried much, then it is not described."""
    (crawl / "provenance").mkdir()
    with (crawl / "provenance" / "w-00000.jsonl.gz").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    AUTO.describe_ended(crawl)
    assert not (crawl / "void.ttl").exists()
    ON.describe_ended(crawl)
    assert (crawl / "void.ttl").exists()


def test_segment_that_goes_meanwhile_counts_for_nothing(crawl: Path) -> None:
    """If a segment has gone since it was listed, then the rest is described."""
    (crawl / "quads" / "gone-00000.nq.gz").symlink_to("nowhere")
    AUTO.describe_ended(crawl)
    assert (crawl / "void.ttl").exists()


def test_scratch_files_are_next_to_the_crawl(crawl: Path) -> None:
    """If a crawl is described, then its scratch files are where it has room."""
    assert ON.options(crawl).scratch == crawl
