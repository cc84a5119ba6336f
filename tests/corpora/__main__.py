"""Reads documents, and prints those with another result than the right one.

    python -m tests.corpora [FILE.toml[:NAME] ...]

reads cases of the corpus (without a file, all of them) by `rdfcrawl.extract`.

    python -m tests.corpora --judge [FILE.toml ... | FOLDER ...]

crawls cases, or all documents in a folder, and compares the stored statements with
those of other readers: each difference has a line with the verdict, then the statements
that only one of both has (- theirs, + ours).

    python -m tests.corpora --ways [FILE.toml[:NAME] | FOLDER ...]

crawls cases or documents, passes each to `extract` and to `scrapy rdf`, and prints
those with another result than that of the crawl: 20 minutes for all cases.

    python -m tests.corpora --mutants [SYNTAX ...]

puts errors into a well-formed document of each syntax, and prints statements that are
lost without a fault, and those that other readers keep.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import LOOPBACK_NETS
from tests.corpora.cases import FOLDER, documents, load
from tests.corpora.comparing import differences, surplus, unlike, wanted
from tests.corpora.judging import Verdict, judge
from tests.corpora.mutants import DOCUMENTS
from tests.corpora.others import read_by_others
from tests.corpora.radius import kept_by_others, silent_drops
from tests.corpora.readings import crawl, extract_all, show_all
from tests.corpora.serving import CaseServer
from tests.support.command_forks import scrapy
from tests.support.crawl_fixtures import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.corpora.cases import Case
    from tests.corpora.comparing import Reading


def _named(words: list[str]) -> Iterator[Case]:
    for word in words:
        path, _, name = word.partition(":")
        is_plain = Path(path).is_dir() and not any(Path(path).glob("*.toml"))
        for case in documents(Path(path)) if is_plain else load(Path(path)):
            if not name or case.name.endswith(f"/{name}"):
                yield case


def check(cases: list[Case]) -> int:
    """Print the cases that fail; return how many."""
    bases = {case.name: "http://127.79.0.1:9" for case in cases}
    readings = extract_all(cases, bases)
    n_failed = 0
    for case in cases:
        lines = differences(case, readings[case.name], bases[case.name])
        mark = " (pending)" * case.is_pending
        n_failed += case.is_pending != bool(lines)
        if lines:
            print(f"{case.name}{mark}", *lines, sep="\n    ")
        elif mark:
            print(f"{case.name} is pending, and right")
    print(f"{len(cases) - n_failed} of {len(cases)} as expected")
    return n_failed


def compare_ways(cases: list[Case]) -> int:
    """Print cases that `extract` or `scrapy rdf` read otherwise; return how many."""
    n_unlike = 0
    with tempfile.TemporaryDirectory() as folder, CaseServer(cases) as server:
        crawled, bases = _crawled(folder, cases, server.bases), server.bases
        rdf = partial(scrapy, "rdf", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")
        for way, readings in (
            ("extract", extract_all(cases, bases)),
            ("scrapy rdf", show_all(rdf, cases, bases, Path(folder))),
        ):
            for name, reading in readings.items():
                if lines := unlike(crawled[name], reading, bases[name]):
                    n_unlike += 1
                    print(f"{name}: {way}", *lines, sep="\n    ")
    print(f"{len(cases)} cases, {n_unlike} read otherwise than by the crawl")
    return n_unlike


def _crawled(
    folder: str, cases: list[Case], bases: Mapping[str, str]
) -> dict[str, Reading]:
    commands = Commands(partial(Path, folder))
    try:
        return crawl(commands, cases, bases)
    finally:
        commands.stop()


def compare(cases: list[Case]) -> int:
    """Print how other readers differ from a crawl; return how often they are better."""
    with tempfile.TemporaryDirectory() as folder, CaseServer(cases) as server:
        readings = _crawled(folder, cases, server.bases)
    verdicts = Counter(_verdicts(cases, readings, server.bases))
    for (reader, verdict), n in sorted(verdicts.items()):
        print(f"{n:5} {reader}: {verdict}")
    return sum(n for (_, verdict), n in verdicts.items() if verdict == Verdict.THEIRS)


def _verdicts(
    cases: list[Case], readings: Mapping[str, Reading], bases: Mapping[str, str]
) -> Iterator[tuple[str, Verdict]]:
    read = [case for case in cases if readings[case.name].format]
    found = read_by_others(
        [
            (
                case.document.body,
                readings[case.name].format,
                f"{bases[case.name]}/{case.document.path}",
            )
            for case in read
        ]
    )
    for n, case in enumerate(read):
        ours, base = readings[case.name].quads, bases[case.name]
        results = {reader: all_[n] for reader, all_ in found.items()}
        for reader, theirs in results.items():
            if theirs is None:
                continue
            verdict = judge(
                ours,
                theirs,
                want=None if case.want is None else wanted(case, base),
                choice=case.choice,
                others=[each for each in results.values() if each is not None],
            )
            yield reader, verdict
            if verdict not in {Verdict.SAME, Verdict.OURS}:
                lines = [f"- {line}" for line in surplus(theirs, ours)]
                lines += [f"+ {line}" for line in surplus(ours, theirs)]
                text = "\n    ".join(lines).replace(base, "BASE")
                print(f"{case.name}: {reader}: {verdict}\n    {text}")


def damage(names: list[str]) -> int:
    """Print what errors cost; return how many statements are lost without a fault."""
    n_silent = 0
    for document in DOCUMENTS:
        if names and document.name not in names:
            continue
        n, drops = silent_drops(document)
        for lines in drops.values():
            print(*lines, sep="\n    ")
        counts: Counter[str] = Counter()
        for text, reader, lines in kept_by_others(document):
            counts[reader] += 1
            print(f"{text}{reader} keeps:", *lines, sep="\n    ")
        print(f"{document.name}: {n} errors, {len(drops)} silent;", dict(counts))
        n_silent += len(drops)
    return n_silent


def main(words: list[str]) -> int:
    """Check or compare documents; return 0 if there is nothing to mend."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--ways", action="store_true")
    parser.add_argument("paths", nargs="*")
    given = parser.parse_args(words)
    if given.mutants:
        return bool(damage(given.paths))
    cases = list(_named(given.paths or [str(FOLDER)]))
    if given.ways:
        return bool(compare_ways(cases))
    is_known = all(case.want is not None for case in cases)
    return bool(check(cases) if is_known and not given.judge else compare(cases))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
