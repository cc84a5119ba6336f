"""The files of an archive: complete records, rotated, repaired, without repetitions."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from rdfcrawl.downloader.warc import capture_index
from rdfcrawl.downloader.warc.archive import (
    ArchivedExchange,
    ArchivedResource,
    ArchiveOptions,
    WebArchive,
)
from rdfcrawl.downloader.warc.archive_files import repair_archives
from rdfcrawl.downloader.warc.capture_index import CaptureIndex, LastCapture
from rdfcrawl.stores.segment_file import SegmentFile
from tests.support.web_archives import read_archive, warcio

URL = "http://h.example/"


class KeptArchive(WebArchive):
    """An archive whose statistics are kept.

    Attributes:
        counts: statistics.
    """

    def __init__(self, folder: Path, name: str, max_bytes: int) -> None:
        self.counts: Counter[str] = Counter()
        options = ArchiveOptions(
            folder=folder,
            name=name,
            max_bytes=max_bytes,
            redacted_headers=("Cookie",),
            info=[("software", "test")],
        )
        super().__init__(options, self._note)
        self.open()

    def _note(self, name: str, number: int) -> None:
        self.counts[name] += number


def archive(folder: Path, name: str = "a", max_bytes: int = 10**9) -> KeptArchive:
    """Return an archive that is open."""
    return KeptArchive(folder, name, max_bytes)


def exchange(
    path: str, body: bytes | Path, *, status: str = "200 OK", at_ms: int = 10**12
) -> ArchivedExchange:
    """Return an exchange; the received bytes may be in a file."""
    received = body
    if isinstance(body, bytes):
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
        received = head.encode() + body
    return ArchivedExchange(
        url=URL + path,
        at_ms=at_ms,
        request=f"GET /{path} HTTP/1.1\r\nCookie: x\r\n\r\n".encode(),
        received=received,
        address="192.0.2.1",
    )


def types(folder: Path) -> list[str]:
    """Return the types of all records of finished files that are no `warcinfo`."""
    files = sorted(folder.glob("*.warc.gz"))
    assert not files or warcio("check", *files) == ""
    records = [each for file in files for each in read_archive(file)]
    return [each.type for each in records if each.type != "warcinfo"]


def test_files_are_finished_at_their_size(tmp_path: Path) -> None:
    """If a file has its size, then another one begins; each begins with `warcinfo`."""
    kept = archive(tmp_path, max_bytes=20_000)
    for n in range(10):
        kept.write_exchange(exchange(str(n), os.urandom(9000)))
        kept.flush()
    kept.close()
    files = sorted(tmp_path.glob("*.warc.gz"))
    assert len(files) == 5 == kept.counts["warc/files"]
    assert all(read_archive(file)[0].type == "warcinfo" for file in files)
    assert Counter(types(tmp_path))["response"] == 10


def test_what_was_captured_before_is_a_revisit(tmp_path: Path) -> None:
    """If a payload comes again, in this run or a later one, it is referred to."""
    same = b"same"
    for run in range(2):
        kept = archive(tmp_path, f"run{run}")
        kept.write_exchange(exchange("a", same, at_ms=10**12 + run))
        kept.write_exchange(exchange("a", same, at_ms=10**12 + 10))
        kept.flush()
        kept.write_exchange(exchange("a", b"", status="304 N", at_ms=10**12 + 20))
        kept.write_exchange(exchange("empty", b""))
        kept.close()
    records = [r for f in sorted(tmp_path.glob("*.gz")) for r in read_archive(f)]
    answers = [r for r in records if r.type in ("response", "revisit")]
    assert [r.type for r in answers] == [
        *("response", "revisit", "revisit", "response"),
        *("revisit", "revisit", "revisit", "response"),
    ]
    original = answers[0].fields
    for revisit in (r for r in answers if r.type == "revisit"):
        fields = revisit.fields
        assert fields["WARC-Refers-To"] == original["WARC-Record-ID"]
        assert fields["WARC-Refers-To-Date"] == original["WARC-Date"]
        assert fields["WARC-Refers-To-Target-URI"] == original["WARC-Target-URI"]
        assert fields["WARC-Payload-Digest"] == original["WARC-Payload-Digest"]
        assert revisit.body == b""
        assert revisit.head.startswith("HTTP/1.1 ")
    profiles = [r.fields.get("WARC-Profile", "").rpartition("/")[2] for r in answers]
    assert profiles[1:3] == ["identical-payload-digest", "server-not-modified"]


def test_an_error_with_the_same_body_is_another_capture(tmp_path: Path) -> None:
    """If an error had the body of a document, then the document is kept in full."""
    kept = archive(tmp_path)
    for status in ("503 S", "200 OK", "503 S", "200 OK"):
        kept.write_exchange(exchange("a", b"same", status=status))
    kept.close()
    assert [x for x in types(tmp_path) if x in ("response", "revisit")] == [
        *("response", "response"),
        *("revisit", "revisit"),
    ]


def test_what_comes_back_is_kept_as_a_whole(tmp_path: Path) -> None:
    """If a document was gone in between, then its next capture is no revisit.

    A revisit would leave it gone for those who read the archive.
    """
    kept = archive(tmp_path)
    statuses = ("200 OK", "404 N", "200 OK", "410 G", "200 OK", "200 OK", "410 G")
    for n, status in enumerate(statuses):
        kept.write_exchange(exchange("a", b"same", status=status, at_ms=10**12 + n))
        kept.flush()
    kept.close()
    assert [x for x in types(tmp_path) if x in ("response", "revisit")] == [
        *("response", "response", "response", "response", "response"),
        *("revisit", "revisit"),
    ]


def test_a_body_that_a_timeout_ends_is_not_whole(tmp_path: Path) -> None:
    """If a body without a declared end was cut off, then its record says so."""
    kept = archive(tmp_path)
    for name, is_complete in (("cut", False), ("whole", True)):
        sent = exchange(name, b"")
        sent.received = b"HTTP/1.0 200 OK\r\n\r\nabc"
        sent.is_complete, sent.truncation = is_complete, "time"
        kept.write_exchange(sent)
    kept.close()
    (file,) = tmp_path.glob("*.gz")
    fields = [x.fields for x in read_archive(file) if x.type == "response"]
    assert [x.get("WARC-Truncated") for x in fields] == ["time", None]


def test_what_is_not_synced_is_not_referred_to_later(tmp_path: Path) -> None:
    """If a worker dies before a flush, then the next one keeps the payload itself."""
    pid = os.fork()
    if pid == 0:
        archive(tmp_path, "dead").write_exchange(exchange("a", b"body"))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    (unfinished,) = tmp_path.glob("*.open")
    unfinished.write_bytes(unfinished.read_bytes()[:-30])  # as after a power cut
    kept = archive(tmp_path, "next")
    kept.write_exchange(exchange("a", b"body"))
    kept.close()
    assert types(tmp_path) == ["response", "request", "response", "request", "metadata"]


def test_files_of_living_workers_are_left_alone(tmp_path: Path) -> None:
    """If another worker writes to a file, then it is neither cut nor finished."""
    first = archive(tmp_path, "first")
    first.write_exchange(exchange("a", b"1"))
    second = archive(tmp_path, "second")
    first.write_exchange(exchange("b", b"2"))
    first.close()
    second.close()
    assert Counter(types(tmp_path))["response"] == 2


def test_large_answers_are_written_beside_one_another(tmp_path: Path) -> None:
    """If threads write large responses in parallel, then each record is complete."""
    kept = archive(tmp_path / "warc")
    bodies = [os.urandom(3_000_000) for _ in range(4)]
    waiting = []
    for n, body in enumerate(bodies):
        path = tmp_path / f"{n}.body"
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
        path.write_bytes(head.encode() + body)
        waiting.append(exchange(str(n), path))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(kept.write_exchange, waiting))
        kept.write_exchange(exchange("small", b"s"))
    kept.close()
    files = list((tmp_path / "warc").glob("*.gz"))
    assert 1 <= len(files) <= 4
    assert Counter(types(tmp_path / "warc"))["response"] == 5
    found = {
        r.url: r.body for f in files for r in read_archive(f) if r.type == "response"
    }
    assert [found[f"{URL}{n}"] for n in range(4)] == bodies


def test_records_are_written_as_a_whole_or_not(tmp_path: Path) -> None:
    """If the disk refuses a part of a record, then nothing of it stays in the file."""
    kept = archive(tmp_path / "warc")
    kept.write_exchange(exchange("a", b"1"))
    path = tmp_path / "body"
    path.write_bytes(b"HTTP/1.1 200 OK\r\n\r\n" + os.urandom(4_000_000))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, old[1]))
        with pytest.raises(OSError, match="large"):
            kept.write_exchange(exchange("b", path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    kept.write_exchange(exchange("c", b"3"))
    kept.close()
    assert Counter(types(tmp_path / "warc"))["response"] == 2
    assert kept.counts["warc/records/response"] == 2


def test_flush_beside_the_end_of_a_record_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If power fails after a flush, then earlier records survive."""
    on_disk: dict[str, bytes] = {}
    sync, set_length = os.fdatasync, SegmentFile.patch_length

    def sync_noted(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        on_disk[path.name] = path.read_bytes()
        sync(fd)

    def set_length_late(file: SegmentFile, offset: int = 0) -> None:
        kept.flush()  # of another thread
        set_length(file, offset)

    monkeypatch.setattr(os, "fdatasync", sync_noted)
    monkeypatch.setattr(SegmentFile, "patch_length", set_length_late)
    kept = archive(tmp_path / "warc")
    (tmp_path / "body").write_bytes(b"HTTP/1.1 200 OK\r\n\r\n" + os.urandom(2_000_000))
    kept.write_exchange(exchange("a", tmp_path / "body"))
    kept.flush()
    (tmp_path / "after").mkdir()
    for name, content in on_disk.items():
        (tmp_path / "after" / name).write_bytes(content)
    repair_archives(tmp_path / "after")
    assert types(tmp_path / "after") == ["response", "request", "metadata"]


def test_what_could_not_be_synced_is_never_taken_for_kept(tmp_path: Path) -> None:
    """If a file is gone at a flush, then that one and all later ones fail."""
    kept = archive(tmp_path)
    kept.write_exchange(exchange("a", b"1"))
    (file,) = tmp_path.glob("*.open")
    file.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="deleted or moved away"):
            kept.flush()


def test_damaged_index_is_begun_anew(tmp_path: Path) -> None:
    """If the index is damaged, then it is put aside, and responses are kept in full."""
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    kept = archive(tmp_path)
    kept.write_exchange(exchange("a", b"1"))
    kept.close()
    assert (tmp_path / "index.sqlite.damaged").exists()
    assert types(tmp_path) == ["response", "request", "metadata"]


def test_index_damaged_within_is_begun_anew_while_it_is_used(tmp_path: Path) -> None:
    """If pages of the index are damaged, then all of its workers go on with another."""
    path = tmp_path / "index.sqlite"
    capture = LastCapture(bytes(20), 1, "urn:x")
    with closing(CaptureIndex(path)) as index:
        for n in range(2000):
            index.note(f"{URL}{n}", capture)
        index.take()
        index.keep()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    first, second = CaptureIndex(path), CaptureIndex(path)
    for index in (first, second):
        assert index.find(f"{URL}7") is None
        index.note(f"{URL}{id(index)}", capture)
        index.take()
        index.keep()
    for index in (first, second):
        assert index.find(f"{URL}{id(first)}") == index.find(f"{URL}{id(second)}")
        assert index.find(f"{URL}{id(first)}") == capture
        index.close()
    assert (tmp_path / "index.sqlite.damaged").exists()


def test_an_index_that_is_locked_is_not_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process holds the index, then a log line says so, and it stays."""
    archive(tmp_path).close()
    monkeypatch.setattr(capture_index, "_BUSY_SECS", 0.1)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"index\.sqlite: database is locked"):
            archive(tmp_path)
    assert not (tmp_path / "index.sqlite.damaged").exists()


def test_unanswered_requests_have_no_record(tmp_path: Path) -> None:
    """If a response has no complete head, then it is counted, and not written."""
    kept = archive(tmp_path)
    sent = exchange("a", b"")
    sent.received = b"HTTP/1.1 200 OK\r\nContent-"
    kept.write_exchange(sent)
    kept.close()
    assert kept.counts == {"warc/unanswered": 1}
    assert not list(tmp_path.glob("*.warc.gz*"))


def test_resources_have_no_head(tmp_path: Path) -> None:
    """If a document was not sent by HTTP, then it is a `resource`, even if cut off."""
    kept = archive(tmp_path)
    kept.write_resource(
        ArchivedResource(
            url="ftp://h.example/f",
            at_ms=10**12,
            content_type="text/turtle",
            body=b"<> a <> .",
            truncation="time",
            note="a\r\nb",
        )
    )
    kept.close()
    (file,) = tmp_path.glob("*.gz")
    _, record, note = read_archive(file)
    assert (record.type, record.body) == ("resource", b"<> a <> .")
    assert record.fields["Content-Type"] == "text/turtle"
    assert record.fields["WARC-Truncated"] == "time"
    assert note.body == b"note: a b\r\n"


def test_long_answers_are_written_in_little_memory(tmp_path: Path) -> None:
    """If a response is a long file, then memory does not grow with its length."""
    n_bytes = 48 * 2**20
    received = tmp_path / "received"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n_bytes
    received.write_bytes(head)
    os.truncate(received, len(head) + n_bytes)
    written = archive(tmp_path / "warc")
    tracemalloc.start()
    written.write_exchange(exchange("long", received))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    written.close()
    assert peak < 8 * 2**20
    assert types(tmp_path / "warc") == ["response", "request", "metadata"]
