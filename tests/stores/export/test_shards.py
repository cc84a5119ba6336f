"""Documents are spread over files at the same cost, however many files there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.stores.export import exporting
from rdfcrawl.stores.export.exporting import MANIFEST, ShardWriter, export
from rdfcrawl.stores.export.plan import ExportPlan, ShardRule
from rdfcrawl.stores.export.selection import DocumentSelection
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    import pytest

LINE = b"<urn:s> <urn:p> <urn:o> <urn:g> .\n"


class _CountedFiles(dict[str, Any]):
    """Open files, and how often all of them were looked at."""

    n_looks = 0

    def values(self) -> Any:
        self.n_looks += 1
        return super().values()


def test_documents_do_not_look_at_the_files_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If each host has a file, then files are looked at when memory is full alone."""
    monkeypatch.setattr(exporting, "_PENDING_BYTES", 3000)
    rule = ShardRule(is_by_host=True)
    plan = ExportPlan.of(
        f"{tmp_path}/d/",
        format_name="nq",
        shard_rule=rule,
        selection=DocumentSelection(),
    )
    writer = ShardWriter(tmp_path, plan, rule, "urn:x:base")
    files = writer._open = _CountedFiles()
    for number in range(1000):
        writer.add(f"http://h{number % 50}.example/{number}", 1, [LINE])
    assert files.n_looks == 1000 * len(LINE) // 3000
    writer.end()
    assert len(writer.reports) == 50
    for report in writer.reports:
        assert (report.n_quads, report.n_bytes) == (20, 20 * len(LINE))
        assert (tmp_path / report.name).read_bytes() == LINE * 20


def test_all_files_of_a_folder_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a folder appears under its name, then power loss takes nothing out of it."""
    synced = set()
    fsync = os.fsync

    def note(fd: int) -> None:
        synced.add(Path(f"/proc/self/fd/{fd}").readlink().name)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    write_log(tmp_path / "log", [RawVersion("http://e/", 1, LINE)])
    plan = ExportPlan.of(f"{tmp_path}/d/", selection=DocumentSelection())
    export(CrawlLog(tmp_path / "log"), plan)
    names = {path.name for path in (tmp_path / "d").iterdir()}
    assert names == {"part-00000.nq.gz", MANIFEST}
    assert names <= synced
