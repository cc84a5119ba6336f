"""ORCA's rule of recall, and the command that applies it."""

from __future__ import annotations

import gzip
import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import WebConfig
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.dataweb.web import build_web
from tests.support.command_forks import ROOT, scrapy, shared_forks

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, *lines: str) -> Path:
    """Write statements without their final dot."""
    path.write_text("".join(f"{line} .\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("truth", "output", "found"),
    [
        ("<x:s> <x:p> <x:o>", "<x:s> <x:p> <x:o> <x:any>", True),
        ("<x:s> <x:p> <x:o>", "<x:s> <x:p> _:b", False),
        ("<x:s> <x:p> <x:o>", '<x:s> <x:p> "x:o"', False),
        ("<x:s> <x:p> _:b", "<x:s> <x:p> <x:o>", True),
        ("<x:s> <x:p> _:b", '<x:s> <x:p> "text"', True),
        ("<x:s> <x:p> _:b", "<x:s> <x:q> <x:o>", False),
        ("_:b <x:p> <x:o>", "<x:s> <x:p> <x:o>", True),
        ("_:b <x:p> <x:o>", "_:c <x:p> <x:o>", True),
        ("_:b <x:p> _:c", "<x:s> <x:p> <x:o>", True),
        ("_:b <x:p> _:b", "<x:s> <x:p> <x:o>", True),
        ("_:b <x:p> _:c", "<x:s> <x:q> <x:o>", False),
        (
            '<x:s> <x:p> "a"',
            '<x:s> <x:p> "a"^^<http://www.w3.org/2001/XMLSchema#string>',
            True,
        ),
        ('<x:s> <x:p> "a"', '<x:s> <x:p> "a"@en', False),
        ('<x:s> <x:p> "a"@en-GB', '<x:s> <x:p> "a"@en-gb', True),
        (
            '<x:s> <x:p> "10:00:00"^^<http://www.w3.org/2001/XMLSchema#time>',
            '<x:s> <x:p> "other"',
            True,
        ),
        (
            '<x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
            '<x:s> <x:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer>',
            False,
        ),
    ],
)
def test_one_statement(truth: str, output: str, found: bool, tmp_path: Path) -> None:
    """If a truth's blank nodes and times are taken as free, the rest must be equal."""
    report = judge(
        write(tmp_path / "truth.nq", truth), [str(write(tmp_path / "out.nq", output))]
    )
    assert (report.n_found, report.n_expected) == (int(found), 1)
    assert report.n_surplus == int(not found)
    assert len(report.missing) == int(not found)


def test_micro_and_macro_are_different_means(tmp_path: Path) -> None:
    """If nodes differ in size, micro weighs statements and macro weighs nodes."""
    truth = write(
        tmp_path / "truth.nq",
        *(f"<x:s{k}> <x:p> <x:o> <urn:dataweb:dump:0>" for k in range(9)),
        "<x:t> <x:p> <x:o> <urn:dataweb:deref:1>",
    )
    output = write(tmp_path / "out.nt", "<x:t> <x:p> <x:o>", "<x:s1> <x:p> <x:o>")
    report = judge(truth, [str(output)])
    assert report.micro == pytest.approx(2 / 10)
    assert report.macro == pytest.approx((1 / 9 + 1) / 2)
    assert report.kinds() == {
        "dump": (1, 9, pytest.approx(1 / 9)),
        "deref": (1, 1, 1.0),
    }


def test_equal_patterns_of_two_nodes_count_twice(tmp_path: Path) -> None:
    """If two nodes expect the same, both find it in one statement."""
    truth = write(
        tmp_path / "truth.nq",
        "_:a <x:p> <x:o> <urn:dataweb:ckan:0>",
        "_:b <x:p> <x:o> <urn:dataweb:ckan:1>",
    )
    report = judge(truth, [str(write(tmp_path / "out.nt", "<x:s> <x:p> <x:o>"))])
    assert (report.n_found, report.n_expected) == (2, 2)


def test_surplus_counts_a_statement_once(tmp_path: Path) -> None:
    """If a statement beyond the truth is in two graphs, it is one of surplus."""
    truth = write(tmp_path / "truth.nq", "<x:s> <x:p> <x:o>")
    output = write(
        tmp_path / "out.nq",
        "<x:s> <x:p> <x:o> <x:g>",
        "<x:s> <x:p> <x:more> <x:g>",
        "<x:s> <x:p> <x:more> <x:h>",
    )
    report = judge(truth, [str(output)])
    assert (report.micro, report.n_surplus, report.n_read) == (1.0, 1, 3)
    assert report.surplus == ["<x:s> <x:p> <x:more> <x:g>"]


def test_outputs_are_files_folders_and_patterns(tmp_path: Path) -> None:
    """If output lies in folders, packed or not, all N-Quads below are read once."""
    truth = write(tmp_path / "truth.nq", *(f"<x:s{k}> <x:p> <x:o>" for k in range(3)))
    folder = tmp_path / "crawl" / "quads"
    folder.mkdir(parents=True)
    (folder / "a.nq.gz").write_bytes(gzip.compress(b"<x:s0> <x:p> <x:o> <x:g> .\n"))
    write(folder / "b.nq", "<x:s1> <x:p> <x:o> <x:g>")
    write(tmp_path / "c.nt", "<x:s2> <x:p> <x:o>")
    (folder / "notes.txt").write_text("not RDF")
    outputs = [str(tmp_path / "crawl"), str(folder / "*.nq*"), str(tmp_path / "*.nt")]
    report = judge(truth, outputs)
    assert (report.micro, report.n_read) == (1.0, 3)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """If truth or output is absent, broken or empty, the error names the file."""
    good = write(tmp_path / "good.nq", "<x:s> <x:p> <x:o>")
    bad = tmp_path / "bad.nq.gz"
    bad.write_bytes(b"not gzip")
    wrong = tmp_path / "wrong.nq"
    wrong.write_text("not quads\n")
    empty = write(tmp_path / "empty.nq")
    for truth, output, word in [
        (good, bad, "bad.nq.gz"),
        (good, wrong, "wrong.nq"),
        (good, tmp_path / "none.nq", "none.nq"),
        (tmp_path / "none.nq", good, "none.nq"),
        (empty, good, "no statements"),
    ]:
        with pytest.raises(ConfigError, match=word):
            judge(truth, [str(output)])


def test_truth_of_a_web_finds_itself(tmp_path: Path) -> None:
    """If the truth is its own output, recall is 1 for all kinds, without surplus."""
    web = build_web(WebConfig())
    truth = tmp_path / "truth.nq"
    n_lines = web.write_truth(truth)
    report = judge(truth, [str(truth)])
    assert (report.n_found, report.n_expected) == (n_lines, n_lines)
    assert set(report.kinds()) == {"deref", "ckan", "sparql", "dump", "rdfa"}
    assert report.macro == 1.0
    assert report.n_surplus == 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Scrapy project that has our commands."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = commands_only\n")
    (tmp_path / "commands_only.py").write_text('COMMANDS_MODULE = "rdfcrawl.commands"')
    return tmp_path


def environment(project: Path) -> dict[str, str]:
    """Return the variables of a command in the project."""
    path = os.pathsep.join([str(ROOT), str(project)])
    given = {**os.environ, "PYTHONPATH": path}
    given.pop("SCRAPY_SETTINGS_MODULE", None)
    return given


def dataweb(project: Path, *words: str) -> tuple[int, str]:
    """Run `scrapy dataweb`; return its exit code and output."""
    env = environment(project)
    done = scrapy("dataweb", *words, folder=project, env=env)
    return done.returncode, done.stdout + done.stderr


def test_serve_then_recall(project: Path) -> None:
    """If a web is served until Ctrl-C, its files are there and can be judged."""
    options = ("--port", "0", "--nodes", "8", "--degree", "3", "--profile", "2021")
    words = ["-m", "scrapy", "dataweb", "serve", *options]
    reader, writer = os.pipe()
    with os.fdopen(reader) as told, os.fdopen(writer, "wb") as out:
        env = environment(project)
        serving = shared_forks().start(words, out, folder=project, env=env)
        out.close()
        first = told.readline()
        last = next(line for line in told if "Ctrl-C" in line)
        serving.send_signal(signal.SIGINT)
        rest = told.read()
        code = serving.wait()
    assert first.startswith("8 hosts accept connections at port ")
    assert last == "press Ctrl-C to stop\n"
    assert code == 0
    assert "0 requests" in rest
    assert json.loads((project / "dataweb" / "log.json").read_text())["hosts"]
    truth = project / "dataweb" / "truth.nq"
    code, text = dataweb(project, "advance", "dataweb", "--days", "1.5")
    assert (code, text) == (0, "time of the web: 1.5 days\n")
    code, text = dataweb(project, "recall", str(truth), str(truth))
    assert code == 0, text
    assert "1.0000" in text
    half = project / "half.nq"
    half.write_text("".join(truth.read_text().splitlines(keepends=True)[:200]))
    code, text = dataweb(project, "recall", "-v", str(truth), str(half))
    assert code == 1
    assert "missing: " in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("serve", "--nodes", "3"), "nodes is 3"),
        (("serve", "--colour", "red"), "--colour"),
        (("recall", "none.nq", "none.nq"), "none.nq"),
        (("advance", "nowhere"), "nowhere is not the folder of a web"),
        (("advance", "web", "--days", "-1"), "--days -1"),
    ],
)
def test_wrong_arguments_are_one_line(
    project: Path, arguments: tuple[str, ...], word: str
) -> None:
    """If an argument is wrong, the command says which and ends with code 2."""
    code, text = dataweb(project, *arguments)
    assert code == 2
    assert word in text.splitlines()[-1]
    assert "Traceback" not in text
