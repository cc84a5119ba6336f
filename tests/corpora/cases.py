"""Cases of the corpus: a document as it is served, its statements, and its faults."""

from __future__ import annotations

import base64
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rdfcrawl.core.formats import FORMATS

FOLDER: Final = Path(__file__).parent
_FIELDS: Final = frozenset(
    (
        *("name", "media_type", "path", "body", "body_base64", "headers", "files"),
        *("want", "faults", "pending", "choice"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedFile:
    """A file of a host, as it is served.

    Attributes:
        path: on the host, without the first slash.
        media_type: content of the header; empty: there is no such header.
        body: its bytes.
        headers: names and values of further headers.
    """

    path: str
    media_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A document with the right result of reading it.

    Attributes:
        name: `<file without suffix>/<name in the file>`.
        document: the document.
        files: other files of its host.
        want: its statements as N-Quads, in which BASE stands for scheme and authority;
            None: unknown.
        faults: reasons of its faults.
        choice: name of the choice by which other readers give another result.
        is_pending: reading it is known to give another result.
    """

    name: str
    document: ServedFile
    files: tuple[ServedFile, ...] = ()
    want: str | None = None
    faults: frozenset[str] = frozenset()
    choice: str = ""
    is_pending: bool = False


def load(path: Path) -> list[Case]:
    """Return the cases of a file, or of all files in a folder.

    Raises:
        ValueError: a case is not as `README.md` says.
    """
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    cases = [case for file in files for case in _cases(file)]
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two cases of one name: {sorted(twice)}")
    return cases


def documents(folder: Path) -> list[Case]:
    """Return the documents in a folder as cases whose right results are unknown.

    Their names say their formats.
    """
    types = {
        f".{extension}": each.media_types[0]
        for each in FORMATS
        for extension in each.extensions
    }
    return [
        Case(
            name=str(path.relative_to(folder)),
            document=ServedFile(
                path=f"dir/{quote(path.name)}",
                media_type=types.get(path.suffix, ""),
                body=path.read_bytes(),
            ),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _cases(file: Path) -> list[Case]:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if unknown := table.keys() - {"case"}:
        raise ValueError(f"{file.name}: unknown {sorted(unknown)}")
    return [_case(file, entry) for entry in table["case"]]


def _case(file: Path, entry: dict[str, Any]) -> Case:
    name = f"{file.stem}/{entry['name']}"
    if unknown := entry.keys() - _FIELDS:
        raise ValueError(f"{name}: unknown {sorted(unknown)}")
    return Case(
        name=name,
        document=_file(entry, name),
        files=tuple(_file(each, name) for each in entry.get("files", ())),
        want=entry["want"],
        faults=frozenset(entry["faults"]),
        choice=entry.get("choice", ""),
        is_pending=entry.get("pending", False),
    )


def _file(entry: dict[str, Any], name: str) -> ServedFile:
    if ("body" in entry) == ("body_base64" in entry):
        raise ValueError(f"{name}: needs either body or body_base64")
    return ServedFile(
        path=entry.get("path", "dir/doc"),
        media_type=entry["media_type"],
        body=base64.b64decode(entry["body_base64"])
        if "body_base64" in entry
        else entry["body"].encode(),
        headers=tuple(entry.get("headers", {}).items()),
    )
