"""Look for libraries with known vulnerabilities: `python -m tests.support.audit`.

Checked are the installed versions, and the oldest allowed ones. They are looked up in a
copy of the database of osv.dev, if the variable `ADVISORIES` names one (a folder or zip
of its records for PyPI, `all.zip`); otherwise that service gets one request for all.
The exit code is 1 if one is vulnerable, 2 if the database cannot be read; 0, with one
line, where there is neither database nor network.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from packaging.markers import Marker
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tests.support.lowest import lower_bounds

ROOT: Final = Path(__file__).parents[2]
SERVICE: Final = "https://api.osv.dev/v1/querybatch"
MOST_SECS: Final = 10.0
# Known advisories that do not matter here: identifier -> reason.
IGNORED: Final[dict[str, str]] = {}


class Release(NamedTuple):
    """A version of a library."""

    name: str
    version: str


class UnknownError(Exception):
    """OSV cannot be reached."""


class DatabaseError(Exception):
    """The copy of the database cannot be read."""


def installed() -> set[Release]:
    """Return the installed packages, without the project itself."""
    found = (
        Release(canonicalize_name(each.name), each.version)
        for each in metadata.distributions()
    )
    return {each for each in found if each.name != "rdfcrawl"}


def oldest_allowed(pyproject: str) -> set[Release]:
    """Return the oldest versions that a user may have."""
    found = set()
    for line in lower_bounds(pyproject):
        bound, _, marker = line.partition(";")
        name, _, version = bound.partition("==")
        if not marker or Marker(marker).evaluate():
            found.add(Release(canonicalize_name(name), version))
    return found


def in_database(path: Path, releases: set[Release]) -> dict[Release, set[str]]:
    """Return the advisories of a copy of the database for releases.

    Raises:
        DatabaseError: it has no records.
    """
    wanted = {each.name for each in releases}
    known: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    n_records = 0
    for record in _records(path):
        n_records += 1
        if not record.get("withdrawn"):
            for affected in record.get("affected", []):
                package = affected.get("package", {})
                name = canonicalize_name(package.get("name", ""))
                if package.get("ecosystem") == "PyPI" and name in wanted:
                    known[name].append((record["id"], affected))
    if not n_records:
        raise DatabaseError(f"{path} has no records")
    found: dict[Release, set[str]] = {}
    for release in releases:
        ids = {x for x, each in known[release.name] if is_affected(release, each)}
        found[release] = ids
    return found


def is_affected(release: Release, affected: dict[str, Any]) -> bool:
    """Return whether a version is one of those that an advisory is about.

    Source: the schema of OSV, `affected[].versions` and `affected[].ranges[]`.
    """
    if release.version in affected.get("versions", []):
        return True
    version = _version(release.version)
    for ranged in affected.get("ranges", []):
        if ranged.get("type") != "ECOSYSTEM":
            continue
        is_within = False
        for event in sorted(ranged.get("events", []), key=_place):
            kind, text = next(iter(event.items()))
            if kind == "introduced" and version >= _version(text):
                is_within = True
            elif (kind == "fixed" and version >= _version(text)) or (
                kind == "last_affected" and version > _version(text)
            ):
                is_within = False
        if is_within:
            return True
    return False


def at_service(url: str, releases: set[Release]) -> dict[Release, set[str]]:
    """Return the advisories that a service knows of releases.

    Raises:
        UnknownError: it does not answer.
    """
    asked = sorted(releases)
    queries = [
        {"package": {"name": x.name, "ecosystem": "PyPI"}, "version": x.version}
        for x in asked
    ]
    request = Request(
        url,
        data=json.dumps({"queries": queries}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=MOST_SECS) as answer:
            results = json.load(answer)["results"]
    except (HTTPError, OSError, ValueError, LookupError) as error:
        raise UnknownError(f"no answer from {url}: {error}") from error
    if len(results) != len(asked):
        raise UnknownError(f"{url} answers {len(results)} of {len(asked)} queries")
    return {
        each: {advisory["id"] for advisory in result.get("vulns") or ()}
        for each, result in zip(asked, results, strict=True)
    }


def main() -> int:
    """Audit, print the result, and return the exit code."""
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest = oldest_allowed(pyproject)
    releases = installed() | oldest
    database = os.environ.get("ADVISORIES", "")
    try:
        if database:
            found = in_database(Path(database), releases)
        else:
            found = at_service(os.environ.get("ADVISORY_SERVICE", SERVICE), releases)
    except UnknownError as error:
        print(f"Libraries are not audited: {error}; ADVISORIES may name a database.")
        return 0
    except DatabaseError as error:
        print(f"ADVISORIES: {error}")
        return 2
    bad = {each: ids - IGNORED.keys() for each, ids in sorted(found.items())}
    bad = {each: ids for each, ids in bad.items() if ids}
    for release, ids in bad.items():
        what = "the oldest that is allowed" if release in oldest else "installed"
        name, version = release
        print(f"{name} {version} ({what}) is vulnerable: {', '.join(sorted(ids))}")
    print(f"{len(releases)} libraries audited, {len(bad)} vulnerable")
    return 1 if bad else 0


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        if path.is_dir():
            for each in path.rglob("*.json"):
                yield json.loads(each.read_bytes())
            return
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield json.loads(archive.read(name))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise DatabaseError(f"{path}: {error}") from error


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _place(event: dict[str, str]) -> tuple[Version, bool]:
    kind, text = next(iter(event.items()))
    return _version(text), kind != "fixed"  # with both, the later begin counts


if __name__ == "__main__":
    sys.exit(main())
