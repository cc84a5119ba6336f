"""Runs tests that are many of a kind in turn: `pytest --in-turn`, as `make test` does.

A test marked `in_turn(4)` has one in four of its cases in a run, others for another
commit. It has all of them if the last commit, or a change that is not committed, is in
its room: for `tests/uri/guard`, in `rdfcrawl/uri/guard` or in the folder of the test.
`in_turn(4, rooms=("rdf",))` names more rooms, each with the rooms in it. If a module is
marked `in_turn(4, together=True)`, then all of its tests have their turn at once.
Without the option, as in `make soak` and `make coverage`, all tests have all cases.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import pytest

MARKER = "in_turn"
_OPTION = "in_turn"
_ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    text = "run a part of the cases of tests marked in_turn; SEED is that of a commit"
    words = {"nargs": "?", "const": "", "default": None, "metavar": "SEED"}
    parser.addoption("--in-turn", dest=_OPTION, help=text, **words)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and look for the commit."""
    line = f"{MARKER}(n, rooms=(), together=False): one in n cases with --in-turn"
    config.addinivalue_line("markers", line)
    if config.getoption(_OPTION) == "":
        setattr(config.option, _OPTION, _git("rev-parse", "--short=8", "HEAD") or "-")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the seed, with which a run can be repeated."""
    seed = config.getoption(_OPTION)
    return None if seed is None else f"in turn: --in-turn={seed}"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave the cases whose turn it is."""
    seed = config.getoption(_OPTION)
    if seed is None:
        return
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    changed = _changed_rooms()
    for item in items:
        marker = item.get_closest_marker(MARKER)
        if marker and not _has_changed(item, marker, changed):
            cases[item.nodeid.partition("[")[0]].append(item)
    passed_over = {
        item for name, each in cases.items() for item in _passed_over(seed, name, each)
    }
    if passed_over:
        config.hook.pytest_deselected(items=sorted(passed_over, key=str))
        items[:] = [item for item in items if item not in passed_over]


def _passed_over(seed: str, name: str, cases: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of a test whose turn it is not."""
    marker = cases[0].get_closest_marker(MARKER)
    one_in = int(marker.args[0]) if marker else 1
    if marker and marker.kwargs.get("together"):
        first = crc32(f"{seed} {cases[0].path.name}".encode())
        return cases if first % one_in else []
    first = crc32(f"{seed} {name}".encode())
    return [case for n, case in enumerate(cases, first) if n % one_in]


def _has_changed(item: pytest.Item, marker: pytest.Mark, changed: set[Path]) -> bool:
    """Return whether one of the rooms of a test has changed."""
    rooms = marker.kwargs.get("rooms", ())
    return _room_of(item.path) in changed or any(
        each.is_relative_to(room) for each in changed for room in rooms
    )


def _changed_rooms() -> set[Path]:
    """Return the folders, below that of the package or the tests, of changed files."""
    paths = _git("diff", "--name-only", "HEAD~1").splitlines()
    return {_room_of(_ROOT / path) for path in paths}


def _room_of(path: Path) -> Path:
    try:
        return Path(*path.relative_to(_ROOT).parent.parts[1:])
    except ValueError:  # a test of another tree
        return path.parent


def _git(*words: str) -> str:
    """Return the output of a command; nothing in a tree without Git."""
    done = subprocess.run(
        ["git", *words], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
