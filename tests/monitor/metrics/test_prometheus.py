"""A Prometheus that scrapes the exporter, with the files of `deploy/`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
import yaml

from tests.support.crawl_webs import TreeWeb
from tests.support.exporting import exporting, open_directly, samples
from tests.support.page_tables import names
from tests.support.pages import read_page
from tests.support.processes import end_with_parent
from tests.support.sparql_services import free_port

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = DEPLOY / "prometheus"
_NAME = re.compile(r"\brdfcrawl_[a-z_]+")


def test_prometheus_scrapes_a_crawl_for_dashboard_and_alerts(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If Prometheus runs with our files, then the metrics that they use exist."""
    program = shutil.which("prometheus") or pytest.skip("no prometheus here")
    web = TreeWeb(loopback, "127.94.3", n_hosts=1, n_docs=3, secs=0)
    folder = commands.folder()
    assert commands.crawl([web.seed], folder=folder).code == 0
    with exporting(commands, folder=folder) as url:
        with open_directly(url) as answer:
            families = set(re.findall(r"(?m)^# TYPE (\S+)", answer.read().decode()))
        told = families | {name for name, _ in samples(url)}
        _configure(tmp_path, url)
        port = free_port()
        words = [f"--web.listen-address=127.0.0.1:{port}", "--config.file=own.yml"]
        words += [f"--storage.tsdb.path={tmp_path / 'data'}", "--log.level=warn"]
        prometheus = subprocess.Popen(
            [program, *words],
            cwd=tmp_path,
            preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
        )
        ask = partial(_query, port)
        try:
            wanted = "sum(rdfcrawl_documents_total)"
            commands.wait_until(lambda: ask(wanted) == len(web.documents))
            assert ask("up") == 1
            for expression in _expressions():
                ask(expression)  # Prometheus refuses wrong expressions
            with open_directly(f"http://127.0.0.1:{port}/api/v1/rules") as answer:
                (group,) = json.load(answer)["data"]["groups"]
            healths = {rule["health"] for rule in group["rules"]}
            assert healths <= {"ok", "unknown"}  # until they were evaluated
        finally:
            prometheus.terminate()
            prometheus.wait(60)
    used = set(_NAME.findall("\n".join(_expressions())))
    assert used <= told, used - told
    board = set(_NAME.findall((DEPLOY / "grafana" / "rdfcrawl.json").read_text()))
    shown = {re.sub("_(sum|count|bucket)$", "", name) for name in board}
    assert shown == names(read_page("metrics.md"), "metric") == families


def _configure(folder: Path, url: str) -> None:
    """Write the configuration of `deploy/`, for another port and without waiting."""
    text = (RULES / "prometheus.yml").read_text()
    text = text.replace("127.0.0.1:6823", url.split("/")[2]).replace("15s", "1s")
    (folder / "own.yml").write_text(text)
    shutil.copy(RULES / "alerts.yml", folder)


def _query(port: int, expression: str) -> float | None:
    """Return the one value of an expression; None if there is none."""
    words = urlencode({"query": expression})
    try:
        with open_directly(f"http://127.0.0.1:{port}/api/v1/query?{words}") as answer:
            found = json.load(answer)["data"]["result"]
    except HTTPError as error:
        if error.code == 503:  # it has not begun yet
            return None
        pytest.fail(f"{expression}: {error.read().decode()}")
    except OSError:
        return None
    return float(found[0]["value"][1]) if found else None


def _expressions() -> list[str]:
    """Return the expressions of the dashboard and the alerts."""
    board = json.loads((DEPLOY / "grafana" / "rdfcrawl.json").read_text())
    asked = [x["expr"] for panel in board["panels"] for x in panel["targets"]]
    filled = [
        each.replace("$__rate_interval", "1m").replace("$crawl", ".*") for each in asked
    ]
    rules = yaml.safe_load((RULES / "alerts.yml").read_text())
    return filled + [rule["expr"] for rule in rules["groups"][0]["rules"]]


@pytest.mark.parametrize(
    "words",
    [
        "check rules alerts.yml",
        "test rules alerts.test.yml",
        "check config prometheus.yml",
    ],
)
def test_alerts_are_raised_when_they_should_be(words: str) -> None:
    """If series are as in `alerts.test.yml`, then each alert comes when it says."""
    program = shutil.which("promtool") or pytest.skip("no promtool here")
    done = subprocess.run(
        [program, *words.split()],
        cwd=RULES,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested() -> None:
    """If there is an alert, then `alerts.test.yml` says when it comes."""
    tested = yaml.safe_load((RULES / "alerts.test.yml").read_text())["tests"]
    raised = {
        rule["alertname"]
        for test in tested
        for rule in test["alert_rule_test"]
        if rule["exp_alerts"]
    }
    alerts = yaml.safe_load((RULES / "alerts.yml").read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in alerts} == raised
