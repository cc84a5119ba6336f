"""The commands of units, containers and pods, as processes: all of them work."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import Request

import pytest
import yaml

from rdfcrawl.monitor.page.options import TOKEN
from tests.support.command_forks import shared_forks
from tests.support.exporting import open_directly
from tests.support.page_browser import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.command_forks import ForkedCommand
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

pytestmark = pytest.mark.service

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRET = "correct-horse-battery"
_PROGRAM = Path(sys.executable).with_name("rdfcrawl")


class PlacedDeployment(NamedTuple):
    """Where a deployment is on this machine.

    Attributes:
        folder: of seeds and of the store.
        ports: of exporter and page.
    """

    folder: Path
    ports: Mapping[str, int]

    def line(self, text: str, role: str) -> str:
        """Return a text of a deployment with places of this machine."""
        for there, here in (
            ("/var/lib/rdfcrawl", f"{self.folder}/data"),
            ("/data", f"{self.folder}/data"),
            ("/project/", f"{self.folder}/"),
            ("0.0.0.0", "127.0.0.1"),
        ):
            text = re.sub(rf"(?<![\w/]){re.escape(there)}", here, text)
        port = self.ports.get(role, 0)
        return re.sub(r"\b682[34]\b", str(port), text)


def of_systemd(placed: PlacedDeployment, role: str) -> list[str]:
    """Return the command of a unit."""
    (path,) = (DEPLOY / "systemd").glob(f"rdfcrawl-{role}*.service")
    text = path.read_text(encoding="utf-8")
    variables = dict(
        each.split("=", 1)
        for line in re.findall(r"(?m)^Environment=(.*)$", text)
        for each in line.split(" ")
    )
    # Contents of an operator's CRAWL_ID.env.
    variables |= {"ARGUMENTS": f"-aseeds=@{placed.folder}/seeds.txt"}
    variables |= {"STORE_URI": "oxigraph:/data/oxigraph"}
    (line,) = re.findall(r"(?m)^ExecStart=(.*)$", text)
    words: list[str] = []
    for word in line.replace("%i", "example").split(" "):
        if whole := re.fullmatch(r"\$\{(\w+)\}", word):
            words.append(variables[whole[1]])
        elif split := re.fullmatch(r"\$(\w+)", word):
            words += variables[split[1]].split()
        else:
            words.append(word)
    assert words[0] == "/opt/rdfcrawl/bin/rdfcrawl"
    return [str(_PROGRAM), *(placed.line(word, role) for word in words[1:])]


def of_compose(placed: PlacedDeployment, role: str) -> list[str]:
    """Return the command of a service of the trial."""
    path = DEPLOY / "container" / "compose.yml"
    services = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    service = services["worker1" if role == "workers" else role]
    before = service.get("entrypoint", [str(_PROGRAM)])
    words = [each.replace("$$", "$") for each in service["command"]]
    return [*before, *(placed.line(word, role) for word in words)]


def of_kubernetes(placed: PlacedDeployment, role: str) -> list[str]:
    """Return the command of a container of the manifests."""
    for path in (DEPLOY / "kubernetes").glob("*.yaml"):
        for each in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            pod: Any = each.get("spec", {}).get("template", {}).get("spec", {})
            for container in pod.get("containers", ()):
                if container["name"] == role:
                    before = container.get("command", [str(_PROGRAM)])
                    words = [placed.line(word, role) for word in container["args"]]
                    return [*before, *words]
    raise LookupError(role)


@pytest.fixture(name="placed")
def _placed(loopback: Loopback, tmp_path: Path) -> PlacedDeployment:
    """Return the places of a deployment, with a site to crawl."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    (tmp_path / "seeds.txt").write_text(f"{server.url('/a')}\n")
    return PlacedDeployment(tmp_path, {"exporter": free_port(), "page": free_port()})


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("deployment", [of_systemd, of_compose, of_kubernetes])
def test_commands_of_a_deployment_work_together(
    deployment: Any,
    placed: PlacedDeployment,
    commands: Commands,
    lasting_server: RedisServer,
) -> None:
    """If all that a deployment starts is started, then each does its part, and ends."""
    (placed.folder / "project").mkdir()
    settings = (DEPLOY / "kubernetes" / "settings.py").read_text(encoding="utf-8")
    settings = settings.replace('"/data"', f'"{placed.folder}/data"')
    settings += 'GUARD_ALLOW_NETS = "127.0.0.0/8"\nGUARD_PORTS = "1-65535"\n'
    settings += "GUARD_MAX_PORTS = 65535\nDOWNLOAD_DELAY = 0\n"
    settings += 'TDM_POLICY = "ignore"\nHOST_PATIENCE_SECS = 0\n'
    (placed.folder / "project" / "settings.py").write_text(settings)
    environment = {
        **os.environ,
        "PATH": f"{_PROGRAM.parent}:{os.environ['PATH']}",
        "SCRAPY_SETTINGS_MODULE": "settings",
        "PYTHONPATH": str(placed.folder / "project"),
        "REDIS_URL": lasting_server.url,
        TOKEN: SECRET,
    }
    with ExitStack() as stack:

        def start(role: str) -> ForkedCommand | subprocess.Popen[bytes]:
            words, port = deployment(placed, role), placed.ports.get(role)
            if port and str(port) not in words:  # the usual one may not be free here
                words += ["--port", str(port)]
            output = placed.folder / role
            return stack.enter_context(started(words, output, environment))

        page = start("page")  # it waits for the crawl
        assert start("workers").wait() == 0
        assert list(placed.folder.glob("data/example/quads/*.nq.gz"))
        exporter, follower = start("exporter"), start("follower")
        commands.wait_until((placed.folder / "data/oxigraph/CURRENT").exists)
        if deployment(placed, "follower")[0] == "sh":  # until it is terminated
            follower.send_signal(signal.SIGTERM)
        assert follower.wait() == 0
        commands.wait_until(lambda: "rdfcrawl_documents_total{" in _told(placed))
        commands.wait_until(lambda: "The crawl has finished" in _shown(placed))
        for process in (page, exporter):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0


@contextmanager
def started(
    words: list[str], output: Path, environment: Mapping[str, str]
) -> Iterator[ForkedCommand | subprocess.Popen[bytes]]:
    """Yield a process that is ended at last; its output is in a file.

    Our program is forked, which saves its imports.
    """
    process: ForkedCommand | subprocess.Popen[bytes]
    program, *arguments = words
    folder = output.parent
    with output.open("wb") as file:
        if program == str(_PROGRAM):
            ours = ["-m", "rdfcrawl", *arguments]
            process = shared_forks().start(ours, file, folder=folder, env=environment)
        else:
            process = subprocess.Popen(
                words, env=environment, stdout=file, stderr=file, cwd=folder
            )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _told(placed: PlacedDeployment) -> str:
    return _read(f"http://127.0.0.1:{placed.ports['exporter']}/metrics")


def _shown(placed: PlacedDeployment) -> str:
    return _read(f"http://127.0.0.1:{placed.ports['page']}/")


def _read(url: str) -> str:
    asked = Request(url, headers={"Authorization": f"Bearer {SECRET}"})
    try:
        with open_directly(asked) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""
