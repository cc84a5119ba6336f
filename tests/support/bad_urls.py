"""URLs of scripted servers that misbehave for a while, as the matrix has it."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.matrix.behaviours import BEHAVIOURS
from tests.matrix.scripts import ScriptedRequest

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from tests.conftest import RawRequest, RawServer, Step
    from tests.matrix.scripts import Script
    from tests.matrix.scripts import Step as ScriptStep

_SILENCE_SECS: Final = 600.0
# All of them leave a URL owed: it can be fetched once its server is healthy.
PASSING_WAYS: Final = (
    *("status-429", "status-503", "status-500", "status-502", "status-504"),
    *("429-after-3", "503-after-garbage", "503-after-negative", "silent", "reset"),
    *("closed", "silent-in-headers", "silent-in-body", "reset-in-body"),
    *("closed-in-body", "trickle-head", "trickle-body", "interim-then-silent"),
    *("endless-103", "endless-chunks-of-1", "endless-header"),
)


@contextmanager
def misbehaving(
    servers: Sequence[RawServer],
    rng: random.Random,
    *,
    share: float,
    ways: Sequence[str] = PASSING_WAYS,
) -> Iterator[None]:
    """Have a share of the URLs of servers misbehave within the block."""
    before = [dict(server.pages) for server in servers]
    for server in servers:
        targets = sorted(server.pages)
        for target in rng.sample(targets, max(1, round(share * len(targets)))):
            _replace(server, target, rng.choice(ways))
    try:
        yield
    finally:
        for server, pages in zip(servers, before, strict=True):
            server.pages.update(pages)


@contextmanager
def bad_robots(server: RawServer, way: str) -> Iterator[None]:
    """Have robots.txt of a server misbehave within the block."""
    server.pages["/robots.txt"] = b""
    _replace(server, "/robots.txt", way)
    yield
    del server.pages["/robots.txt"]


def _replace(server: RawServer, target: str, way: str) -> None:
    reply = server.pages[target]
    good = reply if isinstance(reply, bytes) else b""
    if isinstance(reply, list):
        good = next(step for step in reply if isinstance(step, bytes))
    script = BEHAVIOURS[way].script
    assert script is not None
    server.pages[target] = partial(_play, script, good)


def _play(script: Script, good: bytes, request: RawRequest) -> Iterator[Step]:
    ask = ScriptedRequest(request.target, request.nth, "", "", good, {})
    for step in script(ask):
        yield _as_raw(step)


def _as_raw(step: ScriptStep) -> Step:
    """Return a step as `RawServers` has it."""
    if step == "hang":
        return _SILENCE_SECS
    return None if step == "close" else step
