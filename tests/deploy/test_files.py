"""The files of `deploy/` that others read: systemd, container engines, Kubernetes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from scrapy.utils.project import get_project_settings

from rdfcrawl.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = [path for path in UNITS if path.suffix == ".service"]
# Directives that keep a hijacked crawler from taking over the machine.
HARDENED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "CapabilityBoundingSet": "",
    "SystemCallFilter": (
        "@system-service seccomp landlock_create_ruleset landlock_add_rule"
        " landlock_restrict_self"
    ),
    "User": "rdfcrawl",
}


class OnceLoader(yaml.SafeLoader):
    """Loader that refuses a key that stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return a mapping, or raise if a key is there twice."""
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), (keys, node.start_mark)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> list[Any]:
    """Return all documents of a file."""
    return list(yaml.load_all(path.read_text(encoding="utf-8"), OnceLoader))


def settings_of(unit: Path) -> dict[str, str]:
    """Return the settings of a unit; the last of a name counts."""
    pairs = re.findall(r"(?m)^([A-Z]\w+)=(.*)$", unit.read_text(encoding="utf-8"))
    return dict(pairs)


def accept(words: list[str]) -> None:
    """See that a command of ours takes these words."""
    name, *others = words
    command = import_module(f"{COMMANDS[name]}.{name}").Command()
    command.settings = get_project_settings()
    parser = ArgumentParser(conflict_handler="resolve", exit_on_error=False)
    command.add_options(parser)
    parser.parse_known_args(others)
    _, unknown = parser.parse_known_args(others)
    assert not [word for word in unknown if word.startswith("-")], unknown


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.name)
def test_services_are_hardened_and_start_our_commands(unit: Path) -> None:
    """If a service is started, then its command is one of ours, with few rights."""
    found = settings_of(unit)
    assert HARDENED.items() <= found.items()
    program, *words = shlex.split(found["ExecStart"])
    assert program == "/opt/rdfcrawl/bin/rdfcrawl"
    values = {"${WORKERS}": "2", "${PORT}": "6823", "$ARGUMENTS": "-adepth=1"}
    values |= {"${ADDRESS}": "127.0.0.1", "$OPTIONS": "--control"}
    accept([values.get(word, word) for word in words])


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_understands_the_units(unit: Path, tmp_path: Path) -> None:
    """If systemd reads a unit, then it has nothing to say about it."""
    program = shutil.which("systemd-analyze") or pytest.skip("no systemd here")
    for path in UNITS:  # a timer starts a separate service
        text = path.read_text(encoding="utf-8")
        text = text.replace("/opt/rdfcrawl/bin/rdfcrawl", "/bin/true")
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        [program, "verify", "--man=no", str(tmp_path / unit.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def containers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each container of the manifests with its name and its pod."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for each in read_yaml(path):
            pod = each.get("spec", {}).get("template", {}).get("spec")
            for container in pod["containers"] if pod else ():
                yield f"{path.stem}-{container['name']}", container, pod


@pytest.mark.parametrize(("name", "container", "pod"), [*containers()])
def test_pods_are_hardened_and_start_our_commands(
    name: str, container: dict[str, Any], pod: dict[str, Any]
) -> None:
    """If a pod is started, then its command is one of ours, with few rights."""
    own, of_pod = container["securityContext"], pod["securityContext"]
    assert own["allowPrivilegeEscalation"] is False, name
    assert own["readOnlyRootFilesystem"] is True
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert of_pod["runAsNonRoot"] is True
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "memory" in container["resources"]["limits"]
    accept(_words(container.get("args", []), is_shell="command" in container))
    there = {each["name"] for each in pod["volumes"]} | {"data"}
    assert {each["name"] for each in container["volumeMounts"]} <= there


def _words(words: list[str], *, is_shell: bool) -> list[str]:
    """Return the words of our command, which a shell may run again and again."""
    if not is_shell:
        return words
    (line,) = re.findall(r"\brdfcrawl ([^;]+);", words[-1])
    return shlex.split(line)


def test_kustomization_names_the_files() -> None:
    """If there is a manifest, then the kustomization has it, and no other."""
    folder = DEPLOY / "kubernetes"
    (found,) = read_yaml(folder / "kustomization.yaml")
    manifests = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(found["resources"]) == manifests
    (generated,) = found["configMapGenerator"]
    assert all((folder / name).exists() for name in generated["files"])


def test_compose_has_a_cluster_two_workers_and_a_follower() -> None:
    """If the trial is started, then its services are there, and commands are ours."""
    (found,) = read_yaml(DEPLOY / "container" / "compose.yml")
    services = found["services"]
    assert {"redis1", "redis2", "redis3", "worker1", "worker2", "follower"} < {
        *services
    }
    for name in ("worker1", "worker2", "exporter", "follower", "page"):
        service = services[name]
        assert service["cap_drop"] == ["ALL"]
        accept(_words(service["command"], is_shell="entrypoint" in service))
    volumes = {
        volume.partition(":")[0]
        for service in services.values()
        for volume in service.get("volumes", ())
        if not volume.startswith(".")
    }
    assert volumes == set(found["volumes"])


def test_image_is_built_from_files_of_a_checkout() -> None:
    """If the image is built, then all that is copied is there and not left out."""
    folder = DEPLOY / "container"
    text = (folder / "Containerfile").read_text(encoding="utf-8")
    kept = (folder / "Containerfile.dockerignore").read_text().splitlines()
    for line in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", text):
        for name in line.split():
            assert (DEPLOY.parent / name).exists()
            assert f"!{name}" in kept
    assert "USER 10001" in text


@pytest.mark.parametrize("folder", ["container/project", "kubernetes"])
def test_settings_are_python(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the settings of a deployment are read, then they name a Redis and a crawl."""
    monkeypatch.setenv("REDIS_URL", "redis://a")
    found: dict[str, Any] = {}
    exec((DEPLOY / folder / "settings.py").read_text(encoding="utf-8"), found)
    assert {"REDIS_URL", "CRAWL_ID", "CRAWL_DIR", "USER_AGENT"} <= found.keys()
    assert (DEPLOY / folder / "seeds.txt").exists()
