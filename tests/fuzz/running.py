"""Runs doors over damaged inputs, for a while."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.core.errors import SourceFault
from tests.fuzz.doors import DOORS
from tests.fuzz.mutator import Mutator

CORPUS: Final = Path(__file__).parent / "corpus"
MOST_SECS: Final = 10.0  # of CPU, for an input of at most 64 KiB
MOST_GROWTH_BYTES: Final = 512 * 2**20  # of the peak of memory, by one input


class Defect(NamedTuple):
    """An input with a forbidden effect."""

    door: str
    data: bytes
    what: str


class TooSlow(BaseException):
    """An input takes too long; nothing that catches errors catches it."""


def inputs_of(door: str) -> list[bytes]:
    """Return the corpus of a door."""
    folder = CORPUS / door.removesuffix(" inline")
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def try_input(name: str, data: bytes) -> Defect | None:
    """Give one input to a door; return its defect."""
    door = DOORS[name]
    fine: tuple[type[Exception], ...] = (SourceFault, *door.raises)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _limited():
            door.read(data)
    except fine:
        pass
    except TooSlow:
        return None if door.is_bounded else Defect(name, data, "too slow")
    except Exception as error:
        return Defect(name, data, f"{type(error).__name__}: {error}"[:500])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    if grown > MOST_GROWTH_BYTES:
        return Defect(name, data, f"memory: {grown} bytes")
    return None


def iter_defects(door: str, *, secs: float, seed: object) -> Iterator[Defect | None]:
    """Yield the effect of inputs on a door, for seconds of CPU: its corpus first."""
    until = time.process_time() + secs
    corpus = inputs_of(door)
    for data in corpus:
        yield try_input(door, data)
    mutator = Mutator(corpus, f"{door} {seed}")
    while time.process_time() < until:
        yield try_input(door, mutator.next_input())


def smallest(defect: Defect) -> Defect:
    """Return a smaller input with a defect of the same kind."""
    kind, best = defect.what.partition(":")[0], defect
    length = len(defect.data) // 2
    while length:
        at = 0
        while at < len(best.data):
            found = try_input(best.door, best.data[:at] + best.data[at + length :])
            if found is not None and found.what.partition(":")[0] == kind:
                best = found
            else:
                at += length
        length //= 2
    return best


@contextmanager
def _limited() -> Iterator[None]:
    """End a block that takes too long."""

    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECS, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
