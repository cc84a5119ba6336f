"""Prose keeps to plain English; methods are named after their effect."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.language import MOST, Prose, prose, rates
from tests.support.source_trees import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent for path in (ROOT / "rdfcrawl").glob("*/__init__.py"))
PAGES = [ROOT / name for name in ("docs", "README.md", "CONTRIBUTING.md", "changes")]

_is_predicate = re.compile(
    r"_?(?:is|are|was|were|has|have|had|can|may|must|should|will|does|did)_"
).match


def test_rooms_have_plain_sentences() -> None:
    """If a room has more of a counted word than its share, then the word is named."""
    pieces = {room.name: list(prose(room)) for room in ROOMS}
    sizes = {name: sum(x.n_words for x in found) for name, found in pieces.items()}
    # In a room of few words, one word is a high rate.
    small = [name for name, size in sizes.items() if size < 10_000]
    groups = {name: pieces[name] for name in pieces if name not in small}
    groups["small rooms"] = [x for name in small for x in pieces[name]]
    assert not list(_excess(groups))


def test_pages_have_plain_sentences() -> None:
    """If the pages have more of a counted word than its share, then it is named."""
    groups = {"pages": [x for root in PAGES for x in prose(root)]}
    assert not list(_excess(groups))


def test_methods_are_named_after_their_effect() -> None:
    """If a function returns nothing, then its name is not that of a predicate."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "rdfcrawl").rglob("*.py"))
        for node in statements(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) == "None"
        and _is_predicate(node.name)
        and not any(
            ast.unparse(each).endswith(".setter") for each in node.decorator_list
        )
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Say what it is.", "relative clause"),
        ("The whole file.", "whole"),
        ("It tells nobody.", "nobody"),
        ("Begun anew.", "anew"),
    ],
)
def test_counted_words_are_found(tmp_path: Path, text: str, name: str) -> None:
    """If a docstring, comment or page has a counted word, then it counts."""
    module, page = tmp_path / "a.py", tmp_path / "b.md"
    module.write_text(f'"""{text}"""\n\nA = 1  # {text}\n')
    page.write_text(f"{text} `{text}`\n\n```\n{text}\n```\n")
    found = [word for piece in prose(tmp_path) for word in piece.found()]
    assert found.count(name) == 3


def _excess(groups: dict[str, list[Prose]]) -> Iterator[str]:
    for name, pieces in groups.items():
        for word, rate in rates(pieces).items():
            if rate > MOST[word]:
                yield f"{name}: {word} {rate:.1f} in 10,000 words, most {MOST[word]}"
