"""The source of the Lua operations."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.redis.operations import (
    OPERATIONS,
    OPERATOR_OPERATIONS,
    AnyOperation,
    script_source,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from tests.support.redis_fixtures import MakeFrontier

SHARED = ("prelude", "links", "seen", "over", "schedule", "sound")


def _functions() -> list[str]:
    folder = files("rdfcrawl.frontier") / "lua"
    texts = [(folder / f"{part}.lua").read_text() for part in SHARED]
    return re.findall(r"^local function (\w+)", "".join(texts), re.MULTILINE)


@pytest.mark.parametrize("operation", [*OPERATIONS, *OPERATOR_OPERATIONS])
def test_script_has_what_it_calls_of_shared_functions_alone(
    operation: AnyOperation,
) -> None:
    """If a shared function is called by a script, then that has it, and no others."""
    source = re.sub(r"--.*", "", script_source(operation))
    named = re.findall(r"\w+", re.sub(r"local function \w+", "", source))
    defined = re.findall(r"^local function (\w+)", source, re.MULTILINE)
    shared = _functions()
    assert len(shared) > 30
    assert set(shared) & set(defined) == set(shared) & set(named)


async def test_scripts_are_sent_to_a_server_once(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If a server has the scripts, then who connects next does not send them."""
    await make_frontier()
    await redis.config_resetstat()
    await make_frontier()
    commands = await redis.info("commandstats")
    assert not [name for name in commands if name.startswith("cmdstat_script")]
