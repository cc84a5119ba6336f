"""Names and docstrings keep the form of the project."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.source_trees import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2] / "rdfcrawl"
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# Each command of Scrapy's is found by the name of its file.
EXEMPT = {"Command"}
# Percent. Who brings one down writes so here; none goes up.
MOST_OF_ONE_WORD = 9
MOST_WITH_PRONOUNS = 10
SLACK = 5  # what may be gained before it must be written here

_has_words = re.compile(r"[a-z0-9][A-Z]").search
_has_pronoun = re.compile(
    r"\b(?:it|they|them)\b"
    r"|(?:^|[,;:] |\b(?:and|as|but|if|or|than|when|where|while|until) )"
    r"(?:that|this|those|these|one|ones)\b(?: (?:is|are|was|were|has|have|had|can"
    r"|cannot|may|must|will|would|does|do|did)\b|[.,;:]|$)",
    re.IGNORECASE,
).search
# What begins the docstring of a function that is no property.
_is_no_order = re.compile(
    r"(?:Whether|What|Which|Who|Where|When|Why|How|The|A|An|[A-Z]\w*[^s]s)\b"
).match


@cache
def modules() -> dict[str, ast.Module]:
    """Return the source of each module of the package."""
    paths = sorted(ROOT.rglob("*.py"))
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def class_names() -> dict[str, list[str]]:
    """Return the public classes, with the modules that have one of this name."""
    found = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return {name: paths for name, paths in found.items() if name not in EXEMPT}


def docstrings() -> Iterator[tuple[str, Documented, str]]:
    """Yield place, node and first line of each docstring."""
    for path, tree in modules().items():
        for node in statements(tree):
            if isinstance(node, Documented):
                text = ast.get_docstring(node)
                if text:
                    line = getattr(node, "lineno", 1)
                    yield f"{path}:{line}", node, text.partition("\n")[0]


def is_property(node: Documented) -> bool:
    """Return whether a function is read like an attribute."""
    decorators = getattr(node, "decorator_list", [])
    return any("property" in ast.unparse(each) for each in decorators)


def check_percent(what: str, percent: float, most: int) -> None:
    """Fail if a share has grown, or has sunk and the ceiling has not."""
    assert percent <= most, f"{percent:.1f} % of {what}, were {most} % at most"
    assert percent > most - SLACK - 1, f"{what}: now {percent:.1f} %, lower its ceiling"


def test_public_class_names_are_unique() -> None:
    """If a class is public, then no other module has one of its name."""
    doubles = {name: at for name, at in class_names().items() if len(at) > 1}
    assert not doubles, f"classes of one name: say what each is: {doubles}"


def test_class_names_of_one_word_become_fewer() -> None:
    """If a class gets a name, then it is mostly of two words, as elsewhere."""
    names = [name for name, at in class_names().items() for _ in at]
    n_short = sum(1 for name in names if not _has_words(name))
    share = 100 * n_short / len(names)
    check_percent("class names have one word", share, MOST_OF_ONE_WORD)


def test_docstrings_begin_with_a_sentence() -> None:
    """If something has a docstring, then its first line is a whole sentence."""
    wrong = [place for place, _, line in docstrings() if not line.endswith(".")]
    assert not wrong


def test_docstrings_of_functions_are_orders() -> None:
    """If a function has a docstring, then this begins with a verb: `Return ...`."""
    wrong = [
        f"{place}: {line}"
        for place, node, line in docstrings()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not is_property(node) and _is_no_order(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_first_sentences_with_bare_pronouns_become_fewer() -> None:
    """If a docstring begins, then it names the thing before it says `it` of it."""
    lines = [line for _, _, line in docstrings()]
    n_bare = sum(1 for line in lines if _has_pronoun(line))
    share = 100 * n_bare / len(lines)
    check_percent("first sentences have a bare pronoun", share, MOST_WITH_PRONOUNS)
