"""Commands that write text of the web to a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import one_line
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://e/a"
# A screen is cleared, a title set, by C0 and by C1; text is turned round and deleted.
NASTY = "a\x1b[2Jb\x1b]0;c\x07d\x9b2Je\u202ef\x7fg\x08h"
CONTROLS = set("\x1b\x07\x9b\u202e\x7f\x08")


def on_terminal(folder: Path, *words: str) -> str:
    """Return the output of a command on a terminal; it must end well."""
    ours, theirs = pty.openpty()
    read = bytearray()

    def collect() -> None:
        try:
            while piece := os.read(ours, 65_536):
                read.extend(piece)
        except OSError:  # the other end is closed
            return

    collecting = threading.Thread(target=collect)
    collecting.start()
    command = [sys.executable, "-m", "scrapy", *words, f"-sCRAWL_DIR={folder}"]
    done = subprocess.run(command, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    collecting.join(60)
    os.close(ours)
    shown = read.decode()
    assert done.returncode == 0, one_line(shown)
    return shown


def test_no_command_sends_controls_of_the_web_to_a_terminal(tmp_path: Path) -> None:
    """If statements have control characters, then a terminal gets them escaped."""
    line = f'<http://e/s> <http://e/p> "{NASTY}" <{URL}> .\n'.encode()
    write_log(tmp_path / "one", [RawVersion(URL, 10**12, line)])
    file = tmp_path / "page.nt"
    file.write_text(f'<http://e/s> <http://e/p> "{NASTY}" .\n', encoding="utf-8")
    for words in (
        ("export", "--to", "-", "--format", "nq"),
        ("changes", "--since", "1970-01-02", "--format", "patch"),
        ("query", "SELECT ?o { ?s ?p ?o }", "--format", "csv"),
        ("rdf", str(file)),
    ):
        shown = on_terminal(tmp_path, *words)
        if words[0] == "rdf":  # with its own colours
            shown = shown.replace("\x1b[34m", "").replace("\x1b[32m", "")
            shown = shown.replace("\x1b[0m", "")
        assert "[2J" in shown, words
        assert not set(shown) & CONTROLS, (words, shown)


def test_readers_may_close_their_pipe(tmp_path: Path) -> None:
    """If the reader of the output has ended, as `head` does, then no error is shown."""
    write_log(tmp_path / "one", [RawVersion(URL, 10**12, b"")])
    file = tmp_path / "page.nt"
    file.write_text("<http://e/s> <http://e/p> 1 .\n")
    for words in (
        ("explain", "--offline", URL),
        ("changes", "--since", "1970-01-02"),
        ("query", "ASK {}", "--format", "json"),
        ("rdf", str(file)),
        ("results", "hosts", "--csv"),
    ):
        command = [sys.executable, "-m", "rdfcrawl", *words, f"-sCRAWL_DIR={tmp_path}"]
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(
            command, stdout=theirs, stderr=subprocess.PIPE, check=False
        )
        os.close(theirs)
        assert b"rror" not in done.stderr, words
        assert b"Broken" not in done.stderr, words
