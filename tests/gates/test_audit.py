"""`make lint` knows vulnerable libraries where it can, and says where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import Release, is_affected, oldest_allowed
from tests.support.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServers


def audit(**environment: str) -> tuple[int, str]:
    """Run it as `make lint` does; return exit code and output."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.audit"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def record(name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return an advisory."""
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": "X-1", "affected": [{"package": package, "ranges": ranges}]} | more


ALWAYS = {"introduced": "0"}


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_vulnerable_libraries_fail(tmp_path: Path, kind: str) -> None:
    """If a database knows an installed version as vulnerable, the goal fails."""
    texts = {
        "1.json": json.dumps(record("Scrapy", ALWAYS)),
        "2.json": json.dumps(record("lxml", ALWAYS, withdrawn="2020-01-01T00:00:00Z")),
        "3.json": json.dumps(record("twisted", ALWAYS, {"fixed": "0.1"}, id="X-3")),
    }
    path = tmp_path / "all"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
    else:
        path.mkdir()
        for name, text in texts.items():
            (path / name).write_text(text)
    code, said = audit(ADVISORIES=str(path))
    assert code == 1
    assert "scrapy" in said
    assert "is vulnerable: X-1" in said
    assert "lxml" not in said
    assert "twisted" not in said


def test_nothing_is_known_without_network() -> None:
    """If there is neither database nor network, one line says so; a wrong one fails."""
    code, said = audit(ADVISORIES="", ADVISORY_SERVICE="http://127.0.0.1:1/")
    assert code == 0
    assert said.startswith("Libraries are not audited: no answer from http://127.0")
    assert said.count("\n") == 1
    code, said = audit(ADVISORIES=str(ROOT / "none.zip"))
    assert code == 2
    assert said.startswith("ADVISORIES: ")
    assert said.count("\n") == 1


async def test_service_gets_one_request_for_all(raw_server: RawServers) -> None:
    """If a service answers, then its advisories are those that count."""
    n = len(json.loads(_queries()))
    results = [{"vulns": [{"id": "GHSA-x", "modified": ""}]}, *[{}] * (n - 1)]
    body = json.dumps({"results": results}).encode()
    server = await raw_server({"*": raw_server.response(body, "application/json")})
    done = await _run(ADVISORIES="", ADVISORY_SERVICE=server.url("/v1/querybatch"))
    assert done[0] == 1
    assert "is vulnerable: GHSA-x" in done[1]
    assert f"{n} libraries audited, 1 vulnerable" in done[1]
    assert server.targets == ["/v1/querybatch"]


async def _run(**environment: str) -> tuple[int, str]:
    """Run it while a server of this process answers."""
    import asyncio

    return await asyncio.to_thread(lambda: audit(**environment))


def _queries() -> str:
    """Return the requested releases."""
    from tests.support.audit import installed

    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return json.dumps(sorted(installed() | oldest_allowed(pyproject)))


@pytest.mark.parametrize(
    ("version", "events", "expected"),
    [
        ("1.5", [ALWAYS, {"fixed": "2.0"}], True),
        ("2.0", [ALWAYS, {"fixed": "2.0"}], False),
        ("2.0rc1", [ALWAYS, {"fixed": "2.0"}], True),
        ("1.10", [{"introduced": "1.9"}, {"last_affected": "1.10"}], True),
        ("1.11", [{"introduced": "1.9"}, {"last_affected": "1.10"}], False),
        ("3.1", [ALWAYS, {"fixed": "2"}, {"introduced": "3"}, {"fixed": "4"}], True),
        ("2.5", [{"introduced": "3"}, {"fixed": "4"}, ALWAYS, {"fixed": "2"}], False),
    ],
)
def test_versions_are_compared(
    version: str, events: list[dict[str, str]], *, expected: bool
) -> None:
    """If an advisory is about ranges of versions, then a version is in them or not."""
    (affected,) = record("a", *events)["affected"]
    assert is_affected(Release("a", version), affected) is expected
