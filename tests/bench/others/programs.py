"""Programs that turn a dump into lines of N-Triples or N-Quads, in a stream.

riot is that of the Fuseki that the tests of stores use, N3.js that of the tests of
exports; rapper and serdi are packages of Debian (`raptor2-utils`, `serdi`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.measured import run_measured

_SERVICES: Final = Path("~/.cache/rdfcrawl-services").expanduser()
_N3: Final = Path(__file__).with_name("n3_stream.cjs")
_NAMES: Final = {
    "riot": {".nt": "N-TRIPLES", ".ttl": "TURTLE", ".nq": "N-QUADS", ".rdf": "RDFXML"},
    "rapper": {".nt": "ntriples", ".ttl": "turtle", ".nq": "nquads", ".rdf": "rdfxml"},
    "serdi": {".nt": "ntriples", ".ttl": "turtle", ".nq": "nquads"},
    "N3.js": {".nt": "N-Triples", ".ttl": "Turtle", ".nq": "N-Quads"},
}


@dataclass(frozen=True, slots=True)
class Program:
    """A program that reads dumps.

    Attributes:
        name: of the program.
        command: returns its command for a file in a syntax.
    """

    name: str
    command: Callable[[Path, str], list[str]]

    def cpu_secs(self, path: Path) -> float | None:
        """Return the CPU for a dump; None if the program does not read its syntax."""
        syntax = _NAMES[self.name].get(path.suffix)
        if syntax is None:
            return None
        usage = run_measured(self.command(path, syntax), lambda _: None)
        return None if usage.exit_code else usage.cpu_secs


def installed() -> list[Program]:
    """Return the programs of this machine; a line names each one that is absent."""
    found = []
    jar = max(_SERVICES.glob("jena-fuseki-server-*.jar"), default=None)
    if jar and shutil.which("java"):
        java = ["java", "-cp", str(jar), "riotcmd.riot"]
        found.append(
            Program("riot", lambda path, kind: [*java, f"--syntax={kind}", str(path)])
        )
    for name, words in (("rapper", _rapper), ("serdi", _serdi)):
        if shutil.which(name):
            found.append(Program(name, words))
    if shutil.which("node") and (_SERVICES / "node_modules" / "n3").is_dir():
        os.environ["NODE_PATH"] = str(_SERVICES / "node_modules")
        found.append(
            Program("N3.js", lambda path, kind: ["node", str(_N3), str(path), kind])
        )
    for name in _NAMES.keys() - {program.name for program in found}:
        print(f"{name} is not installed: left out")
    return found


def _rapper(path: Path, syntax: str) -> list[str]:
    output = "nquads" if syntax == "nquads" else "ntriples"
    return ["rapper", "-q", "-i", syntax, "-o", output, str(path), "http://e.example/"]


def _serdi(path: Path, syntax: str) -> list[str]:
    output = "nquads" if syntax == "nquads" else "ntriples"
    return ["serdi", "-i", syntax, "-o", output, str(path)]
