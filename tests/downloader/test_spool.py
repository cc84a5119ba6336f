"""The spool: its bodies, and the remains of a dead process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

import rdfcrawl
from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.downloader.client import HttpResponse, RequestOptions
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.spool_sink import SpoolSink
from rdfcrawl.pipelines.spider_options import SpiderOptions

ASK = RequestOptions(accept="*/*", max_bytes=100, spool_bytes=10, timeout_secs=1.0)

DIE = """
import os, signal, sys
from pathlib import Path
from rdfcrawl.downloader.spool import Spool
spool = Spool(Path(sys.argv[1]), memory_limit_bytes=1)
spool.new_path().write_bytes(b"left behind")
print(spool.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_dead_process_leaves_nothing(tmp_path: Path) -> None:
    """If a worker is killed, then the next one removes its spool, and no other."""
    with Spool(tmp_path, memory_limit_bytes=1) as alive:
        alive.new_path().write_bytes(b"mine")
        root = str(Path(rdfcrawl.__file__).parents[1])
        died = subprocess.run(
            [sys.executable, "-c", DIE, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        left = Path(died.stdout.strip())
        assert list(left.iterdir())
        with Spool(tmp_path, memory_limit_bytes=1):
            assert not left.exists()
            assert [path.read_bytes() for path in alive.folder.iterdir()] == [b"mine"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("pieces", "is_in_file"),
    [
        ([b"0123456789"], False),
        ([b"0123456789", b"0"], True),
        ([b"0" * 50], True),
        ([], False),
    ],
)
def test_long_bodies_go_to_a_file(
    tmp_path: Path, pieces: list[bytes], *, is_in_file: bool
) -> None:
    """If a body is longer than `spool_bytes`, then none of it stays in memory."""
    with Spool(tmp_path, memory_limit_bytes=1000) as spool:
        sink = SpoolSink(spool, ASK)
        for piece in pieces:
            sink.write(piece)
        answer = HttpResponse()
        sink.keep(answer)
        body = answer.path.read_bytes() if answer.path else answer.body
        assert body == b"".join(pieces)
        assert (answer.path is not None) == is_in_file
        assert spool.memory_bytes == (0 if is_in_file else len(b"".join(pieces)))
        spool.release(answer)
        assert spool.memory_bytes == 0
        assert not list(spool.folder.iterdir())


@pytest.mark.parametrize("n_bytes", [5, 50])
def test_discarded_body_is_forgotten(tmp_path: Path, n_bytes: int) -> None:
    """If a fetch is cancelled, then its body leaves neither memory nor file."""
    with Spool(tmp_path, memory_limit_bytes=1000) as spool:
        sink = SpoolSink(spool, ASK)
        sink.write(b"x" * n_bytes)
        sink.discard()
        assert spool.memory_bytes == 0
        assert not list(spool.folder.iterdir())


def test_full_disk_is_not_the_hosts_fault(tmp_path: Path) -> None:
    """If the spool cannot be written, then the document's fault says INTERNAL."""
    with Spool(tmp_path, memory_limit_bytes=1000) as spool:
        spool.folder.rmdir()
        with pytest.raises(SourceFault) as caught:
            SpoolSink(spool, ASK).write(b"x" * 50)
        assert caught.value.fault.reason is Reason.INTERNAL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOWNLOAD_TIMEOUT", 0),
        ("DOWNLOAD_TIMEOUT", float("nan")),
        ("REDIRECT_MAX_TIMES", -1),
        ("DOWNLOAD_MAXSIZE", 0),
    ],
)
def test_setting_out_of_range_is_refused(name: str, value: float) -> None:
    """If a setting makes no sense, then the error names it."""
    settings = Settings()
    apply_defaults(settings)
    SpiderOptions.from_settings(settings, "x")
    settings.set(name, value)
    with pytest.raises(ConfigError, match=name):
        SpiderOptions.from_settings(settings, "x")
