"""Parts of WARC files are read to their end, and no further."""

from __future__ import annotations

import tracemalloc
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.downloader.warc.captures import CaptureLimits, CaptureReader
from rdfcrawl.downloader.warc.part import FilePart
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from pathlib import Path


def test_bombs_are_read_in_little_memory(tmp_path: Path) -> None:
    """If a body is far longer than its record, memory and the disk have a bound."""
    n_bytes = 48 * 2**20
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packed.compress(bytes(2**20)) for _ in range(48)) + packed.flush()
    archive = Archive(is_packed=True)
    kind = ("Content-Type", "text/plain")
    archive.add(f"{HOST}/coded", bomb, kind, ("Content-Encoding", "gzip"))
    archive.add_statement("between")
    archive.add(f"{HOST}/plain", bytes(n_bytes), kind)
    archive.add_statement("last")
    log = FaultLog()
    content = archive.content()
    del archive
    reader = CaptureReader(
        part=FilePart(BytesIO(content), 0, is_last=True),
        log=log,
        limits=CaptureLimits(lambda _url: n_bytes // 2, 2**16, 10_000.0),
        until_ms=10**15,
        is_wanted=lambda _capture, _head: True,
        new_file=lambda: tmp_path / "body",
    )
    tracemalloc.start()
    read = [capture.url for capture in reader]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == [f"{HOST}/between", f"{HOST}/last"]
    assert [(x.reason, x.count) for x in log.all()] == [(Reason.TOO_LARGE, 2)]
    assert peak < 4 * 2**20
    assert not list(tmp_path.iterdir())


def test_a_record_that_is_packed_too_well_loses_only_itself(tmp_path: Path) -> None:
    """If a record is far longer than its packed bytes, then the next one is read."""
    archive = Archive(is_packed=True)
    archive.add(f"{HOST}/bomb", bytes(2**21), ("Content-Type", "text/plain"))
    archive.add_statement("last")
    log = FaultLog()
    reader = CaptureReader(
        part=FilePart(BytesIO(archive.content()), 0, is_last=True),
        log=log,
        limits=CaptureLimits(lambda _url: 2**30, 2**16, 200.0),
        until_ms=10**15,
        is_wanted=lambda _capture, _head: True,
        new_file=lambda: tmp_path / "body",
    )
    assert [capture.url for capture in reader] == [f"{HOST}/last"]
    (fault,) = log.all()
    assert "ratio over 200" in fault.detail


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_part_of_unwanted_records_has_an_end(
    tmp_path: Path, *, is_packed: bool
) -> None:
    """If nothing in a part is wanted, then it ends, and nothing is lost."""
    archive = Archive(is_packed=is_packed)
    for n in range(30):
        archive.add_statement(f"{n}")
    content, log = archive.content(), FaultLog()
    offset = n_parts = n_unwanted = 0
    is_done = False
    while not is_done:
        file = BytesIO(content)
        file.seek(offset)
        reader = CaptureReader(
            part=FilePart(file, offset, is_last=True),
            log=log,
            limits=CaptureLimits(lambda _url: 10**6, 10**6, 200.0),
            until_ms=10**15,
            is_wanted=lambda _capture, _head: False,
            new_file=lambda: tmp_path / "body",
            end=offset + len(content) // 10,
        )
        assert list(reader) == []
        offset, is_done = reader.next_offset, reader.is_done
        n_unwanted += reader.counts["unwanted"]
        n_parts += 1
    assert 8 <= n_parts <= 11
    assert n_unwanted == 30
    assert not log.all()


@pytest.mark.parametrize("is_packed", [True, False])
def test_parts_that_are_sought_through_lose_no_record(
    tmp_path: Path, *, is_packed: bool
) -> None:
    """If a part ends within the first bytes of a record, then that one is read."""
    archive = Archive(is_packed=is_packed)
    archive.add_statement("first")
    border = len(archive.content())
    begin = border - 40
    archive.add_statement("last")
    content = archive.content()
    for end in range(border - 2, border + 150):
        read, offset, is_done, seeks, n_bytes = [], begin, False, True, end - begin
        while not is_done:
            part = content[offset : offset + n_bytes]
            reader = CaptureReader(
                part=FilePart(
                    BytesIO(part), offset, is_last=offset + n_bytes >= len(content)
                ),
                log=FaultLog(),
                limits=CaptureLimits(lambda _url: 10**6, 10**6, 200.0),
                until_ms=10**15,
                is_wanted=lambda _capture, _head: True,
                new_file=lambda: tmp_path / "body",
                seeks=seeks,
            )
            read += [capture.url for capture in reader]
            n_bytes *= 1 if reader.next_offset > offset else 2
            offset, seeks = reader.next_offset, reader.is_lost
            is_done = reader.is_done
        assert read == [f"{HOST}/last"], end


def test_record_without_uri_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a record names no URI, or is none, it is counted, and the next one is read."""
    record = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
        b"%sContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: 20\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx"
    )
    named = record % b"WARC-Target-URI: http://a.example/\r\n"
    content = record % b"" + b"\r\n\r\n" + named + b"y\r\n\r\n" + named
    content += b"\r\n\r\nno record\r\n" + named
    log = FaultLog()
    reader = CaptureReader(
        part=FilePart(BytesIO(content), 0, is_last=True),
        log=log,
        limits=CaptureLimits(lambda _url: 10**6, 10**6, 200.0),
        until_ms=10**15,
        is_wanted=lambda _capture, _head: True,
        new_file=lambda: tmp_path / "body",
    )
    assert [each.body for each in reader] == [b"x", b"x", b"x"]
    assert reader.counts == {"malformed": 1, "captured": 3}
    assert {each.reason for each in log.all()} == {Reason.BAD_ARCHIVE, Reason.REPAIRED}
    assert capsys.readouterr() == ("", "")
