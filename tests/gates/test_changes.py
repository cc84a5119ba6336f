"""The fragments that a release gathers into the changelog."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

from tests.support.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "changes"
MAX_CHARS = 400


def themes() -> list[str]:
    """Return the themes of fragments, as the settings of towncrier have them."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    kinds = tomllib.loads(text)["tool"]["towncrier"]["type"]
    return [kind["directory"] for kind in kinds]


def faults(name: str, text: str) -> list[str]:
    """Return the errors of a fragment."""
    form = rf"\+[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(themes())})\.md"
    rules = {
        "the name is not +short-name.theme.md": re.fullmatch(form, name),
        "it is no sentence": re.match(r"[A-Z`].*\.\n\Z", text, re.DOTALL),
        "it is a heading or a list": not re.search(r"^\s*[#*-] ", text, re.MULTILINE),
        "it is more than one paragraph": "\n\n" not in text,
        "it is too long": len(text) <= MAX_CHARS,
    }
    return [fault for fault, is_kept in rules.items() if not is_kept]


def test_fragments_have_the_form_of_a_change() -> None:
    """If a fragment has no theme or is no sentence, then a test says so."""
    found = {
        path.name: faults(path.name, path.read_text(encoding="utf-8"))
        for path in FOLDER.iterdir()
        if path.name != "README.md"
    }
    assert not any(found.values()), found


def test_bad_fragments_are_reported() -> None:
    """If a fragment breaks a rule, then that rule is named."""
    good = "Sitemaps are read to their end.\n"
    assert not faults("+gzip-length.sources.md", good)
    assert len(faults("123.sources.md", good)) == 1
    assert len(faults("+gzip.features.md", good)) == 1
    assert len(faults("+gzip.sources.md", "* Sitemaps are read.\n")) == 2
    assert len(faults("+gzip.sources.md", "Sitemaps are read")) == 1
    assert len(faults("+gzip.sources.md", f"{good}\n{good}")) == 1
    assert len(faults("+gzip.sources.md", f"S{'o' * MAX_CHARS}.\n")) == 1


def test_readme_names_all_themes() -> None:
    """If there is a theme, then the page on fragments has it."""
    named = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [theme for theme in themes() if f"`{theme}`" not in named] == []


def test_release_gathers_fragments_above_older_ones(tmp_path: Path) -> None:
    """If a release is built, then its changes stand by theme before the last one's."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    changes = tmp_path / "changes"
    changes.mkdir()
    (changes / "+gzip-length.sources.md").write_text(
        "Sitemaps are read to their end.\n"
    )
    (changes / "+twice.speed.md").write_text("Reads twice as fast.\n")
    command = ["build", "--yes", "--version", "7.0.0", "--date", "2031-05-06"]
    subprocess.run(
        [sys.executable, "-m", "towncrier", *command], cwd=tmp_path, check=True
    )
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    order = [
        *("# Changes", "## 7.0.0 (2031-05-06)", "### Sources", "read to their end."),
        *("### Speed", "Reads twice as fast.", "## 0.1.0"),
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert not list(changes.iterdir())
