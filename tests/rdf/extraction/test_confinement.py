"""Denials of the kernel in the children that read documents."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.extraction.confinement import (
    LANDLOCK,
    NONE,
    SECCOMP,
    denied_calls,
    judged_calls,
    kernel_layers,
)
from rdfcrawl.rdf.extraction.messages import Confinement, ReadingJob
from rdfcrawl.rdf.extraction.options import ExtractOptions
from rdfcrawl.rdf.extraction.sandbox import Sandbox
from rdfcrawl.rdf.html.extractors import CustomExtractor
from tests.support.pages import ROOT
from tests.support.reaching_out import TYPE, WAYS, Reaching

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_kernel = pytest.mark.skipif(
    kernel_layers() != (LANDLOCK, SECCOMP), reason="the kernel has not both"
)
EXTRACTOR = CustomExtractor(TYPE, f"{Reaching.__module__}:{Reaching.__qualname__}")
URL = "http://e.example/doc"


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """Yield a port, and who came there."""
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            try:
                connection, (host, _) = server.accept()
            except OSError:
                return
            came.append(host)
            connection.close()

        thread = Thread(target=take, daemon=True)
        thread.start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
        thread.join(60)


async def reach_out(folder: Path, confinement: Confinement) -> tuple[set[str], str]:
    """Return the ways that led out of a child, and its report of confinement."""
    told: list[str] = []
    job = ReadingJob(url=URL, graph=URL, media_type=TYPE, custom=(EXTRACTOR,))
    async with Sandbox(
        custom=(EXTRACTOR,), confinement=confinement, on_confined=told.append
    ) as sandbox:
        with listening() as (port, came):
            document = json.dumps({"port": port, "path": str(folder / "x")}).encode()
            reading = await sandbox.read(document, job)
            lines = b"".join([chunk.lines async for chunk in reading]).decode()
        assert not reading.outcome.faults, reading.outcome.faults
    found = {name for name in WAYS if f'"{name}"' in lines}
    assert bool(came) is ("connect" in found)
    assert ("write" in found) is (folder / "x").exists()
    return found, "".join(told)


@needs_kernel
async def test_no_library_reaches_out_of_a_child(tmp_path: Path) -> None:
    """If libraries connect, write, run or look around, then the kernel denies it."""
    found, told = await reach_out(tmp_path, Confinement.AUTO)
    assert found == set()
    assert told == f"{LANDLOCK}+{SECCOMP}"
    assert not list(tmp_path.iterdir())


async def test_documents_are_read_where_the_kernel_denies_nothing(
    tmp_path: Path,
) -> None:
    """If the kernel is not asked, then documents are read, and ways lead out."""
    found, told = await reach_out(tmp_path, Confinement.PROCESS)
    assert {"connect", "write", "make", "pair"} <= found
    assert "dial" not in found  # the audit hook is there all the same
    assert told == NONE


LAYER = """
import json, sys
from rdfcrawl.rdf.extraction import confinement
from tests.support.reaching_out import WAYS
getattr(confinement, f"_apply_{sys.argv[1]}")()
for name, way in WAYS.items():
    try:
        way(**json.loads(sys.argv[2]))
    except OSError:
        print(name)
"""
ROOT_IN_A_CHILD = """
import os
from rdfcrawl.rdf.extraction.confinement import confine
confine()
status = open("/proc/self/status").read()
print(*(line for line in status.splitlines() if line.startswith(("CapEff", "NoNew"))))
"""


def run(script: str, *words: str) -> str:
    """Return the output of a script that runs in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@needs_kernel
@pytest.mark.parametrize(
    ("layer", "denied"),
    [
        (LANDLOCK, {"connect", "dial", "write", "make"}),
        (SECCOMP, {"connect", "dial", "write", "make", "run", "pair"}),
    ],
)
def test_each_layer_denies_by_itself(
    tmp_path: Path, layer: str, denied: set[str]
) -> None:
    """If a kernel has only one of the two layers, then that one denies its part."""
    with listening() as (port, came):
        path = str(tmp_path / "x")
        told = {"port": port, "path": path, "parent": os.getpid()}
        found = set(run(LAYER, layer, json.dumps(told)).split())
    assert denied <= found
    assert not came
    assert not list(tmp_path.glob("x"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has what is dropped")
def test_root_is_nobody_in_a_child() -> None:
    """If a worker runs as root, then its children may read, and nothing else."""
    words = run(ROOT_IN_A_CHILD).split()
    assert words[words.index("NoNewPrivs:") + 1] == "1"
    assert int(words[words.index("CapEff:") + 1], 16) == 1 << 2  # CAP_DAC_READ_SEARCH


def test_setting_without_meaning_is_named() -> None:
    """If the setting is none of its values, then one line says so."""
    options = ExtractOptions.from_settings(Settings({"EXTRACT_SANDBOX": "process"}))
    assert options.confinement is Confinement.PROCESS
    with pytest.raises(ConfigError, match="EXTRACT_SANDBOX='jail': must be one of"):
        ExtractOptions.from_settings(Settings({"EXTRACT_SANDBOX": "jail"}))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_have_one_number_each(machine: str) -> None:
    """If two calls had one number, then one of them would not be denied."""
    calls = denied_calls(machine) | judged_calls(machine)
    assert len(set(calls.values())) == len(calls)
    assert {"socket", "execve", "unlinkat", "ptrace"} <= calls.keys()


def test_numbers_are_those_of_the_kernel() -> None:
    """If the headers of the kernel are at hand, then they have the same numbers."""
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("no headers of the kernel")
    words = [line.split() for line in header.read_text().splitlines()]
    known = {word[1].removeprefix("__NR_"): word[2] for word in words if len(word) == 3}
    for name, number in (denied_calls("x86_64") | judged_calls("x86_64")).items():
        assert int(known.get(name, number)) == number, name
