"""Crawls whose host names are those that a test has written."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FOLDER = Path(__file__).resolve().parent / "scripted_names"


@contextmanager
def scripted_names(
    folder: Path, names: Mapping[str, Sequence[Sequence[str] | str]]
) -> Iterator[None]:
    """Have the processes that are started within the block look names up so.

    Args:
        folder: where the script is written.
        names: name, or `*.name` for all below it -> answers: addresses, or the name
            of an error (`EAI_AGAIN`); each lookup in a process takes the next one, the
            last stays.
    """
    path = folder / "names.json"
    path.write_text(json.dumps(dict(names)))
    search = filter(None, (str(_FOLDER), os.environ.get("PYTHONPATH", "")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTED_NAMES", str(path))
        patch.setenv("PYTHONPATH", os.pathsep.join(search))
        yield


@contextmanager
def names_outage(folder: Path) -> Iterator[None]:
    """Have no name server answer within the block, for crawls with `scripted_names`."""
    path = folder / "names.json.outage"
    path.touch()
    yield
    path.unlink()


@contextmanager
def lying_names(
    folder: Path, names: Mapping[str, Sequence[str] | str]
) -> Iterator[None]:
    """Have names looked up as these lies say within the block, in running crawls.

    Args:
        folder: argument of `scripted_names`.
        names: name -> addresses, or the name of an error.
    """
    path, whole = folder / "names.json.lies", folder / "names.json.lies.whole"
    whole.write_text(json.dumps(dict(names)))
    whole.replace(path)
    yield
    path.unlink()
