"""The project deployed to a real scrapyd, as `docs/how-to/scrapyd.md` says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener
from zipfile import ZipFile

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.redis.embedded import find_server
from rdfcrawl.launch.crawls import our_spiders
from tests.conftest import LOOPBACK_NETS
from tests.support.checkout_copies import (
    RULES,
    VERSION,
    copy_checkout,
    documents,
    package_files,
    replace,
)
from tests.support.command_forks import ROOT, shared_forks
from tests.support.crawl_fixtures import Commands, CrawlResult
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.process import ServedWeb
    from tests.support.crawl_webs import Loopback

pytestmark = [
    pytest.mark.service,
    pytest.mark.in_turn(2, rooms=("launch", "commands", "spiders"), together=True),
]

USER, PASSWORD = "crawler", "a secret"
START_SECS, JOB_SECS = 120.0, 300.0

wait_until = Commands.wait_until
open_directly = build_opener(ProxyHandler({})).open


@dataclass(frozen=True, slots=True)
class Scrapyd:
    """A scrapyd that runs in a separate folder.

    Attributes:
        folder: has its configuration, and gets eggs, logs and crawls.
        environment: of scrapyd, and of the commands that talk to it.
    """

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    environment: dict[str, str]

    def ask(self, name: str, *, password: str = PASSWORD, **fields: object) -> Any:
        """Return the answer to a GET."""
        return self._send(f"{name}.json?{urlencode(fields)}", None, password)

    def order(self, name: str, *settings: str, **fields: object) -> Any:
        """Return the answer to a POST, which must be a good one."""
        pairs = [*fields.items(), *(("setting", setting) for setting in settings)]
        answer = self._send(f"{name}.json", urlencode(pairs).encode(), PASSWORD)
        assert answer["status"] == "ok", answer
        return answer

    def _send(self, target: str, body: bytes | None, password: str) -> Any:
        request = Request(f"http://127.0.0.1:{self.port}/{target}", body)
        credentials = b64encode(f"{USER}:{password}".encode()).decode()
        request.add_header("Authorization", f"Basic {credentials}")
        with open_directly(request, timeout=START_SECS) as answer:
            return json.loads(answer.read())

    def schedule(self, crawl_id: str, *more: str, **arguments: object) -> str:
        """Schedule a worker of a crawl, with more settings; return its job."""
        given = {
            "CRAWL_DIR": self.folder / "crawl",
            "CRAWL_ID": crawl_id,
            "REDIS_SERVER": find_server(),
            "DOWNLOAD_DELAY": 0,
            "VISIT_MAX_DOCUMENTS": 4,
            "GUARD_ALLOW_NETS": LOOPBACK_NETS,
            "VISIT_SPOOL_BYTES": 200,  # so that children parse nearly all
        }
        settings = [*(f"{name}={value}" for name, value in given.items()), *more]
        project = {"project": "rdfcrawl", "spider": "linkeddata"}
        answer = self.order("schedule", *settings, **project, **arguments)
        return str(answer["jobid"])

    def wait(self, job: str) -> str:
        """Wait until a job has finished; return its log."""
        wait_until(
            lambda: self.ask("status", job=job)["currstate"] == "finished", JOB_SECS
        )
        log = self.folder / "logs" / "rdfcrawl" / "linkeddata" / f"{job}.log"
        return log.read_text()

    def result(self, crawl_id: str) -> CrawlResult:
        """Return the files left by a crawl."""
        return CrawlResult(0, "", self.folder / "crawl" / crawl_id, 0.0, 0)

    def processes(self) -> set[int]:
        """Return the processes that run in its folder, itself included."""
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if (path / "cwd").readlink().is_relative_to(self.folder):
                    found.add(int(path.name))
            except OSError:  # it has ended, or belongs to someone else
                continue
        return found


def free_port() -> int:
    """Return a port that is free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def environment(home: Path, port: int) -> dict[str, str]:
    """Return an environment in which nothing of ours is set."""
    ours = ("SCRAPY", "REDIS", "RDFCRAWL", "PYTHON")
    kept = {n: v for n, v in os.environ.items() if not n.startswith(ours)}
    return kept | {
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "SCRAPYD_HTTP_PORT": str(port),
        "SCRAPYD_USERNAME": USER,
        "SCRAPYD_PASSWORD": PASSWORD,
    }


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    """Yield a scrapyd that runs with the configuration in `deploy/`."""
    try:
        find_server()
    except ConfigError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("scrapyd").resolve()
    shutil.copy(ROOT / "deploy" / "scrapyd.conf", folder)
    port = free_port()
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"],
            cwd=folder,
            env=environment(folder, port),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
        )
    running = Scrapyd(folder, port, process, environment(folder, port))
    try:
        wait_until(lambda: is_listening(port), START_SECS)
        yield running
        process.terminate()
        assert process.wait(START_SECS) == -signal.SIGTERM
        wait_until(lambda: not running.processes(), START_SECS)
    finally:
        for pid in running.processes():
            os.kill(pid, signal.SIGKILL)
        process.wait()


def is_listening(port: int) -> bool:
    """Look whether connections are accepted."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def deployed(scrapyd: Scrapyd, tmp_path_factory: pytest.TempPathFactory) -> Scrapyd:
    """Return the scrapyd after `scrapyd-deploy` in a copy of the checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    copy_checkout(checkout)
    replace(checkout / "scrapy.cfg", r"localhost:6800", f"127.0.0.1:{scrapyd.port}")
    netrc = scrapyd.folder / ".netrc"
    netrc.write_text(f'machine 127.0.0.1 login {USER} password "{PASSWORD}"\n')
    netrc.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-m", "scrapyd_client.deploy", "--debug"],
        cwd=checkout,
        env=scrapyd.environment | {"TMPDIR": str(checkout)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return scrapyd


def web_of(address: str, latency_ms: float = 0.0) -> WebConfig:
    """Return the parameters of a small web of dereferencing nodes."""
    return WebConfig(
        n_nodes=5,
        degree=4,
        triples=40,
        weights={NodeKind.DEREFERENCING: 1.0},
        port=0,
        first_address=address,
        latency_ms=latency_ms,
    )


def check_complete(web: ServedWeb, result: CrawlResult) -> None:
    """Check that a crawl found all of a web, and requested nothing twice."""
    report = judge(web.truth_path, [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus
    counts = result.counts()
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    assert counts.done == len(set(result.ask("?a sq:crawled ?x")))
    assert web.log().total("n_duplicates") == 0


def test_password_is_required(scrapyd: Scrapyd) -> None:
    """If the password is wrong, then scrapyd with our configuration refuses."""
    with pytest.raises(HTTPError, match="401") as refused:
        scrapyd.ask("daemonstatus", password="wrong")
    refused.value.close()


def test_other_addresses_of_the_machine_do_not_answer(scrapyd: Scrapyd) -> None:
    """If a client uses another address of the machine, then the connection fails."""
    socket.create_connection(("127.0.0.1", scrapyd.port)).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", scrapyd.port))


def test_egg_has_the_spiders(deployed: Scrapyd) -> None:
    """If the egg is deployed, then scrapyd finds the spiders in it, and no others."""
    answer = deployed.ask("listspiders", project="rdfcrawl")
    assert answer["spiders"] == sorted(our_spiders())
    assert deployed.ask("listprojects")["projects"] == ["rdfcrawl"]


def test_egg_reads_every_format(
    deployed: Scrapyd, loopback: Loopback, tmp_path: Path
) -> None:
    """If a crawl runs from the egg, then every reader and extractor works.

    Its modules are compiled: Python compiles those of an archive in each process.
    """
    (egg,) = (deployed.folder / "eggs" / "rdfcrawl").glob("*.egg")
    with ZipFile(egg) as archive:
        files = package_files(ROOT)
        compiled = {f"{name}c" for name in files if name.endswith(".py")}
        assert set(archive.namelist()) >= files | compiled
    (tmp_path / "rules.yml").write_text(RULES)
    server = loopback(host="127.94.31.3")
    for path, (media_type, body) in documents().items():
        server.pages[path] = loopback.response(body, media_type)
    urls = {server.url(path) for path in documents()}
    rules = f"SCRAPING_RULES={tmp_path}/rules.yml"
    job = deployed.schedule("formats", rules, seeds=",".join(urls), follow="none")
    log = deployed.wait(job)
    result = deployed.result("formats")
    assert result.graphs == urls
    assert "own faults" not in log
    assert set(result.ask("?a rc:software ?x")) == {f"rdfcrawl {VERSION}"}


def test_scheduled_workers_share_a_crawl(deployed: Scrapyd, tmp_path: Path) -> None:
    """If the spider is scheduled twice, then two workers find all, each thing once."""
    with run_dataweb(web_of("127.64.0.1", latency_ms=10), tmp_path) as web:
        seeds = ",".join(web.seeds)
        given: dict[str, object] = {"seeds": seeds, "depth": 200, "scope": "any"}
        jobs = [deployed.schedule("shared", **given) for _ in range(2)]
        logs = [deployed.wait(job) for job in jobs]
        wait_until(lambda: deployed.processes() == {deployed.process.pid}, START_SECS)
        result = deployed.result("shared")
        check_complete(web, result)
    # A copy that is installed next to the tests, not editable, would hide the egg.
    assert set(result.ask("?a rc:software ?x")) == {f"rdfcrawl {VERSION}"}
    n_quads = len(result.quads)
    for log in logs:
        assert "Traceback" not in log
        assert " ERROR" not in log, log
        assert "] INFO: finished: " in log
    assert any(f" {n_quads:,} quads, 0 queued, 0 leased" in log for log in logs)


def test_cancelled_job_gives_back_the_rest(deployed: Scrapyd, tmp_path: Path) -> None:
    """If a job is cancelled, then the next one completes it and repeats nothing."""
    with run_dataweb(web_of("127.65.0.1", latency_ms=40), tmp_path) as web:
        seeds = f"@{web.seeds_path}"
        job = deployed.schedule("cancelled", seeds=seeds)
        wait_until(lambda: web.log().total("n_documents") > 15, JOB_SECS)
        cancelled = deployed.order("cancel", project="rdfcrawl", job=job)
        assert cancelled["prevstate"] == "running"
        log = deployed.wait(job)
        assert "] INFO: shutdown: " in log
        assert "Traceback" not in log
        wait_until(lambda: deployed.processes() == {deployed.process.pid}, START_SECS)

        first = deployed.result("cancelled")
        counts = first.counts()
        assert counts.leased == counts.dead == 0
        assert counts.queued > 0
        assert counts.seen == counts.queued + counts.done + counts.known
        n_crawled = len(set(first.ask("?a sq:crawled ?x")))
        assert counts.done == n_crawled == web.log().total("n_documents")

        job = deployed.schedule("cancelled", "LOG_FORMAT=json")
        told = [json.loads(line) for line in deployed.wait(job).splitlines()]
        assert {line["job"] for line in told} == {job}
        assert any(line["event"].startswith("finished: ") for line in told)
        check_complete(web, deployed.result("cancelled"))


def test_log_of_a_refused_job_says_why(deployed: Scrapyd) -> None:
    """If an argument is wrong, then the log of the job names it in one line."""
    log = deployed.wait(deployed.schedule("refused", seeds="no URL"))
    (line,) = [line for line in log.splitlines() if " ERROR: " in line]
    assert "seeds=no URL" in line
    assert "Traceback" not in log
    assert not (deployed.folder / "crawl" / "refused").exists()


def test_crawl_outlives_the_reader_of_its_output(
    loopback: Loopback, tmp_path: Path
) -> None:
    """If scrapyd is stopped, or any other reader, then its crawls still end well."""
    server = loopback({"/one": loopback.response(b"<> <urn:x:p> <#o> .")})
    words = ("crawl", "linkeddata", f"-aseeds={server.url('/one')}")
    settings = ("-s", f"CRAWL_DIR={tmp_path}", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")
    log = tmp_path / "log.txt"
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as told:
        process = shared_forks().start(
            ["-m", "scrapy", *words, *settings, "--logfile", str(log)], told
        )
    os.close(reader)
    process.wait_for(JOB_SECS)
    process.kill()
    assert process.wait() == 0, log.read_text()
    assert "] INFO: Spider closed (finished)" in log.read_text()
    assert CrawlResult(0, "", tmp_path / "linkeddata", 0.0, 0).quads
