"""Parsing in child processes that are bounded and replaced."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvloop

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, ContextDocument, ParseLimits
from rdfcrawl.rdf.extraction.child import deny_side_effects
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.sandbox import Sandbox
from rdfcrawl.rdf.html.extractors import CustomExtractor
from rdfcrawl.rdf.parse import parse
from tests.support.hdt_files import hdt_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.rdf.extraction.sandbox import SandboxedReading

URL = "http://e.example/doc"
NT = "application/n-triples"
LINE = b'_:s%d <http://p> "text %d" .\n'


def job(media_type: str, limits: ParseLimits = DEFAULT_LIMITS) -> ReadingJob:
    """Return the job for a document of this type."""
    return ReadingJob(url=URL, graph=URL, media_type=media_type, limits=limits)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """One child."""
    async with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """N-Triples of some megabytes, with one bad line."""
    path = tmp_path / "dump.nt"
    path.write_bytes(b"bad\n" + b"".join(LINE % (i % 99, i) for i in range(30_000)))
    return path


def crash(path: Path) -> Path:
    """Write a stream whose triple terms overflow the parser's stack, after others."""
    nested = b"<http://a> <http://b> " + b"<<( <http://a> <http://b> " * 200_000
    good = b"".join(b"<http://a> <http://b> %d .\n" % i for i in range(20_000))
    path.write_bytes(good + nested + b"<http://c>" + b" )>>" * 200_000 + b" .\n")
    return path


async def read(document: SandboxedReading) -> bytes:
    """Return all chunks."""
    return b"".join([chunk.lines async for chunk in document])


def children() -> list[int]:
    """Return the processes of the sandboxes of this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(") ")[2].split()[1]
            command = (folder / "cmdline").read_bytes()
            if int(parent) == os.getpid() and b"extraction.child" in command:
                found.append(int(folder.name))
    return found


def check_same_as_inline(dump: Path, loop: asyncio.AbstractEventLoop) -> None:
    """Compare one sandboxed parse with one in this process."""

    async def sandboxed() -> tuple[bytes, SandboxedReading]:
        async with Sandbox() as sandbox:
            document = await sandbox.read(dump, job(NT))
            return await read(document), document

    text, document = loop.run_until_complete(sandboxed())
    loop.close()
    inline = parse(dump, url=URL, graph=URL, media_type=NT)
    assert text == b"".join(inline)
    assert document.outcome.format is inline.format
    assert document.outcome.faults == inline.faults
    assert document.outcome.n_quads == inline.n_quads == 30_000
    assert not document.outcome.is_partial


def test_sandbox_gives_what_parse_gives(dump: Path) -> None:
    """If a dump is read in a child, then the result is that of `parse`."""
    check_same_as_inline(dump, asyncio.new_event_loop())


def test_sandbox_works_under_uvloop(dump: Path) -> None:
    """If the loop is uvloop, then nothing is different."""
    check_same_as_inline(dump, uvloop.new_event_loop())


async def test_child_is_kept_for_the_next_document(
    sandbox: Sandbox, dump: Path
) -> None:
    """If a document was read, then its child reads the next one."""
    await read(await sandbox.read(dump, job(NT)))
    before = children()
    await read(await sandbox.read(dump, job(NT)))
    assert len(before) == 1
    assert children() == before


async def test_crash_keeps_what_was_read(
    sandbox: Sandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If the parser crashes, then its output is kept and a new child is used."""
    path = crash(tmp_path / "deep.ttl")
    document = await sandbox.read(path, job("text/turtle"))
    text = await read(document)
    assert [fault.reason for fault in document.outcome.faults] == [Reason.PARSE_CRASH]
    assert document.outcome.is_partial
    assert document.outcome.n_quads == text.count(b"\n") > 10_000
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert f"{URL}: reading process: ended by SIG" in record.message
    good = tmp_path / "good.ttl"
    good.write_bytes(b"<http://a> <b:b> <c:c> .")
    document = await sandbox.read(good, job(NT))
    assert await read(document) == f"<http://a> <b:b> <c:c> <{URL}> .\n".encode()
    assert document.outcome.faults == []


async def test_output_of_a_child_is_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If code in a child writes to standard error, then the log has that, escaped."""
    code = 'import os; os.write(2, b"one \\x1b[2J\\n\\ntwo \\xff")'
    (tmp_path / "talkative.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    custom = [CustomExtractor("text/odd", "talkative.Odd")]
    async with Sandbox(custom=custom) as one:
        for _ in range(2):
            await read(await one.read(b"<http://a> <http://b> 1 .", job(NT)))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    said = "reading process: one \\x1b[2J | two \\xff"
    assert record.message == f"{URL}: {said}"


OURS, ITS_OWN = Fault(Reason.PARSE_CRASH, "broke"), Fault(Reason.PARSE_SECS, "late")


@pytest.mark.parametrize(
    ("lines", "fault", "level", "said"),
    [
        ([], None, "", ""),
        ([], ITS_OWN, "", ""),
        (["a", "b"], None, "WARNING", "a | b"),
        (["a"], ITS_OWN, "WARNING", "late | a"),
        ([], OURS, "ERROR", "broke"),
    ],
)
def test_output_of_children_is_logged_within_limits(
    lines: list[str],
    fault: Fault | None,
    level: str,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If children write for hundreds of documents, then the first ones are logged."""
    sandbox = Sandbox()
    for _ in range(150):
        sandbox.log_errors(URL, lines, fault)
    found = [(record.levelname, record.message) for record in caplog.records]
    line = level, f"{URL}: reading process: {said}"
    last = "WARNING", "Further output of reading processes is not logged"
    assert found == ([*[line] * 100, last] if said else [])


async def test_cpu_time_is_bounded(
    sandbox: Sandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a document takes too long, then it is stopped and its output is kept."""
    path = tmp_path / "long.nt"
    with path.open("wb") as file:
        for _ in range(100):  # a second is over before
            file.write(LINE % (1, 1) * 50_000)
    limits = ParseLimits(secs=0, secs_per_mb=0)
    document = await sandbox.read(path, job(NT, limits=limits))
    await read(document)
    assert [fault.reason for fault in document.outcome.faults] == [Reason.PARSE_SECS]
    assert 0 < document.outcome.n_quads < 5_000_000
    assert document.outcome.is_partial
    assert caplog.records == []  # it is a fault of the document, and said there


async def test_stopped_child_is_given_up(sandbox: Sandbox, dump: Path) -> None:
    """If a child does not answer, then it is ended and the fault is named."""
    await read(await sandbox.read(dump, job(NT)))
    document = await sandbox.read(dump, job(NT))
    document._silence_secs = 0.2
    os.kill(children()[0], signal.SIGSTOP)
    await read(document)
    assert [fault.reason for fault in document.outcome.faults] == [Reason.PARSE_SECS]
    assert children() == []


async def test_memory_is_bounded(tmp_path: Path) -> None:
    """If a document needs more memory than there is, then only the child ends."""
    path = tmp_path / "wide.jsonld"
    long = "x" * 500
    context = ",".join(f'"term{i}":"http://e/{long}{i}"' for i in range(60_000))
    path.write_text(f'{{"@context":{{{context}}},"term1":"x"}}')
    async with Sandbox(memory_bytes=110 * 2**20) as sandbox:
        document = await sandbox.read(path, job("application/ld+json"))
        await read(document)
    assert document.outcome.is_partial
    (fault,) = document.outcome.faults
    assert fault.reason is Reason.TOO_LARGE
    assert "memory" in fault.detail


async def test_unread_document_gives_its_turn_back(
    sandbox: Sandbox, dump: Path
) -> None:
    """If reading is given up, then the next document gets its turn."""
    document = await sandbox.read(dump, job(NT))
    async for _ in document:
        break
    await document.close()
    async with asyncio.timeout(60):
        again = await sandbox.read(dump, job(NT))
        await read(again)
    assert again.outcome.n_quads == 30_000


async def test_reading_is_given_up_while_the_child_waits(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """If the output of a child is not consumed, then the child can still be ended."""
    path = tmp_path / "long.nt"
    path.write_bytes(LINE % (1, 1) * 200_000)
    document = await sandbox.read(path, job(NT))
    chunks = aiter(document)
    await anext(chunks)
    await asyncio.sleep(1)  # the pipe and all buffers get full
    async with asyncio.timeout(60):
        await document.close()
        await read(await sandbox.read(b"<http://a> <http://b> 1 .", job(NT)))
    assert len(children()) == 1


def limits_of(process: int) -> dict[str, tuple[int, int]]:
    """Return the soft and hard limits of a process; -1 for none."""
    text = Path(f"/proc/{process}/limits").read_text().replace("unlimited", "-1")
    rows = re.findall(r"(?m)^(Max .*?) {2,}(-?\d+) +(-?\d+)", text)
    return {name: (int(soft), int(hard)) for name, soft, hard in rows}


async def test_limits_are_hard(dump: Path, tmp_path: Path) -> None:
    """If a child takes back its limits, then it comes to hard ones of the same kind."""
    memory_bytes, scratch_bytes = 2**29, 2**29
    limits = ParseLimits(secs=50, secs_per_mb=9)
    mapped = tmp_path / "mapped.hdt"
    mapped.write_bytes(hdt_of([LINE % (1, n) for n in range(9_000)]))
    os.truncate(mapped, memory_bytes)  # zeros behind, which take no room
    async with Sandbox(memory_bytes=memory_bytes, scratch_bytes=scratch_bytes) as one:
        text = await read(await one.read(mapped, job("application/vnd.hdt", limits)))
        assert text.count(b"\n") == 9_000
        await read(await one.read(dump, job(NT, limits)))
        found = limits_of(*children())
    most = memory_bytes + scratch_bytes
    assert found["Max address space"] == (memory_bytes, most)
    assert found["Max file size"] == (scratch_bytes, scratch_bytes)
    assert found["Max core file size"] == (0, 0)
    assert found["Max open files"] == (256, 256)
    # Twice the time of the longest document, and that before the first one.
    soft, hard = found["Max cpu time"]
    most_secs = 50 + 9 * scratch_bytes / 1e6
    assert int(2 * most_secs + 3) <= hard < 2 * most_secs + 20
    # While it waits, the time of the last document does not count.
    assert soft == hard - 1


async def test_time_grows_with_what_is_unpacked(tmp_path: Path) -> None:
    """If a document is compressed, then its statements earn the time to read them."""
    found = []

    async def load(url: str, *, document_url: str) -> ContextDocument:
        del document_url
        found.append(limits_of(*children())["Max cpu time"])
        return ContextDocument(url=url, content=b'{"@context": {}}')

    path = tmp_path / "dump.nt.gz"
    path.write_bytes(gzip.compress(LINE % (1, 1) * 90_000))
    limits = ParseLimits(secs=50, secs_per_mb=99)
    async with Sandbox(load_context=load) as one:
        body = b'{"@context": "c", "@id": "http://b.example/"}'
        await read(await one.read(body, job("application/ld+json", limits)))
        ((first, _),) = found  # before there are any statements
        document = await one.read(path, job(NT, limits))
        found += [limits_of(*children())["Max cpu time"] async for _ in document]
    assert 50 <= first < 99
    times = {soft for soft, hard in found[1:] if soft < hard - 1}
    assert len(times) > 2
    assert max(times) - min(times) > 50


async def test_child_that_has_used_its_time_is_replaced(tmp_path: Path) -> None:
    """If documents have used half of the hard limit, then another child goes on."""
    path = tmp_path / "dump.nt"
    path.write_bytes(LINE % (1, 1) * 200_000)
    limits = ParseLimits(secs=0.5, secs_per_mb=0.1)
    used: set[int] = set()
    async with Sandbox(scratch_bytes=1) as one:
        for _ in range(100):
            document = await one.read(path, job(NT, limits))
            assert (await read(document)).count(b"\n") == 200_000
            assert not document.outcome.is_partial
            used |= set(children())
            if len(used) > 1:
                return
    raise AssertionError(used)


async def test_child_takes_little_address_space(sandbox: Sandbox, dump: Path) -> None:
    """If there are many cores, then numpy starts no threads, each with its memory."""
    await read(await sandbox.read(dump, job(NT)))
    (process,) = children()
    assert "Threads:\t1\n" in Path(f"/proc/{process}/status").read_text()


async def test_document_cannot_say_that_it_is_another() -> None:
    """If a page has a base of another site, then its contexts are asked for as its."""
    asked = []

    async def load(url: str, *, document_url: str) -> ContextDocument:
        asked.append((url, document_url))
        return ContextDocument(url=url, content=b'{"@context": {}}')

    page = b"""<base href="http://127.0.0.1/x"><script type="application/ld+json">
        {"@context": "c", "@id": "http://a.example/", "http://b.example/": 1}
        </script>"""
    async with Sandbox(load_context=load) as sandbox:
        document = await sandbox.read(page, job("text/html"))
        text = await read(document)
    assert asked == [("http://127.0.0.1/c", URL)]
    assert text.count(b"\n") == 1


async def test_no_more_children_than_allowed(dump: Path) -> None:
    """If more documents come than children may be, then they take turns."""
    async with Sandbox(2) as sandbox:

        async def one() -> int:
            document = await sandbox.read(dump, job(NT))
            await read(document)
            assert len(children()) <= 2
            return document.outcome.n_quads

        assert await asyncio.gather(*(one() for _ in range(5))) == [30_000] * 5
    assert children() == []


async def test_missing_file_is_raised(sandbox: Sandbox, tmp_path: Path) -> None:
    """If the file is not there, then that is the caller's error."""
    with pytest.raises(FileNotFoundError):
        await sandbox.read(tmp_path / "none", job(NT))


async def test_child_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    """If a child cannot be started, then that costs no file descriptor."""
    async with Sandbox(scratch_dir=tmp_path / "none") as one:
        n_open = len([*Path("/proc/self/fd").iterdir()])
        for _ in range(3):
            with pytest.raises(FileNotFoundError):
                await one.read(b"", job(NT))
        await asyncio.sleep(0.01)
        assert len([*Path("/proc/self/fd").iterdir()]) == n_open


async def test_environment_holds_no_secrets(
    sandbox: Sandbox, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the worker's environment has secrets, then the child does not see them."""
    monkeypatch.setenv("STORE_PASSWORD", "canary")
    await read(await sandbox.read(dump, job(NT)))
    environment = Path(f"/proc/{children()[0]}/environ").read_bytes()
    assert b"PYTHONPATH" in environment
    assert b"STORE_PASSWORD" not in environment


async def test_child_leaves_its_bytecode_where_the_worker_does(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the worker may write bytecode, then a child compiles its modules but once."""
    compiled = tmp_path / "bytecode"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(compiled))
    async with Sandbox() as sandbox:
        await read(await sandbox.read(dump, job(NT)))
    assert any(compiled.rglob("rdfcrawl/rdf/extraction/child.*.pyc"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "none"))
    async with Sandbox() as sandbox:
        await read(await sandbox.read(dump, job(NT)))
    assert not (tmp_path / "none").exists()


def test_child_ends_with_its_parent() -> None:
    """If the parent is gone, then its pipe ends and so does the child."""
    script = "from rdfcrawl.rdf.extraction.child import main; main()"
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script, str(2**30), "1", "1", "auto"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # a file would have the bound of the scratch file
        env={"PYTHONPATH": path},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0


DENIED = """
import ctypes, sqlite3  # so that their own imports are not what is denied
import json, os, socket, subprocess, sys
from rdfcrawl.rdf.extraction.child import deny_side_effects
statements = json.load(sys.stdin)
sys.addaudithook(deny_side_effects)
for statement in statements:
    try:
        exec(statement)
    except PermissionError:
        print(statement)
"""
STATEMENTS = [
    "socket.create_connection(('127.0.0.1', {port}))",
    "open({path!r}, 'w')",
    "open({path!r}, 'r+')",
    "os.open({path!r}, os.O_CREAT | os.O_WRONLY)",
    "subprocess.run(['true'])",
    "os.system('true')",
    "os.fork()",
    "os.remove({path!r})",
    "os.kill(os.getpid(), 0)",
    "os.truncate({path!r}, 0)",
    "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "os.chmod('.', 0o777)",
    "os.utime('.')",
    "socket.socketpair()",
    "sqlite3.connect({path!r})",
    "ctypes.CDLL(None)",
]


def test_child_can_do_nothing_but_read(tmp_path: Path) -> None:
    """If code in the child reaches out, then it is denied."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port, path = server.getsockname()[1], str(tmp_path / "x")
        statements = [each.format(path=path, port=port) for each in STATEMENTS]
        done = subprocess.run(
            [sys.executable, "-c", DENIED],
            input=json.dumps(statements),
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.splitlines() == statements
    assert not (tmp_path / "x").exists()


def test_reading_is_allowed() -> None:
    """If a file is opened for reading, then the hook lets it pass."""
    deny_side_effects("open", ("document", "rb", os.O_RDONLY | os.O_CLOEXEC))
    deny_side_effects("import", ("json", None, None, None, None))
