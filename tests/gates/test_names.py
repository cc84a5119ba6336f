"""Names and docstrings keep the form of the project."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.source_trees import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2] / "rdfcrawl"
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# Each command of Scrapy's is found by the name of its file.
EXEMPT = {"Command"}
# Percent. A change that lowers one must lower the number here; none goes up.
MOST_OF_ONE_WORD = 9
MOST_WITH_PRONOUNS = 10
SLACK = 5  # possible gain before it must be written here

_has_words = re.compile(r"[a-z0-9][A-Z]").search
_has_pronoun = re.compile(
    r"\b(?:it|they|them)\b"
    r"|(?:^|[,;:] |\b(?:and|as|but|if|or|than|when|where|while|until) )"
    r"(?:that|this|those|these|one|ones)\b(?: (?:is|are|was|were|has|have|had|can"
    r"|cannot|may|must|will|would|does|do|did)\b|[.,;:]|$)",
    re.IGNORECASE,
).search
# Begin of the docstring of a function that is no property.
_is_no_order = re.compile(
    r"(?:Whether|What|Which|Who|Where|When|Why|How|The|A|An|[A-Z]\w*[^s]s)\b"
).match


@dataclass(frozen=True, slots=True)
class FirstLine:
    """The first line of a docstring, and where it stands.

    Attributes:
        place: file and line.
        line: its text.
        is_of_call: of a function that is no property.
    """

    place: str
    line: str
    is_of_call: bool


@dataclass(frozen=True, slots=True)
class ModuleOutline:
    """The classes of a module, and how its docstrings begin.

    The syntax trees of all modules would be much to keep.
    """

    classes: tuple[str, ...]
    docstrings: tuple[FirstLine, ...]


@cache
def modules() -> dict[str, ModuleOutline]:
    """Return the outline of each module of the package."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
        found[name] = ModuleOutline(tuple(classes), tuple(_docstrings(name, tree)))
    return found


def _docstrings(path: str, tree: ast.Module) -> Iterator[FirstLine]:
    for node in statements(tree):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield FirstLine(
                f"{path}:{getattr(node, 'lineno', 1)}",
                text.partition("\n")[0],
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and not is_property(node),
            )


def class_names() -> dict[str, list[str]]:
    """Return the public classes, with the modules that have one of this name."""
    found = defaultdict(list)
    for path, things in modules().items():
        for name in things.classes:
            if not name.startswith("_"):
                found[name].append(path)
    return {name: paths for name, paths in found.items() if name not in EXEMPT}


def docstrings() -> list[FirstLine]:
    """Return all docstrings."""
    return [each for things in modules().values() for each in things.docstrings]


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
    assert not doubles, f"classes of one name: name them apart: {doubles}"


def test_class_names_of_one_word_become_fewer() -> None:
    """If a class gets a name, then it is mostly of two words, as elsewhere."""
    names = [name for name, at in class_names().items() for _ in at]
    n_short = sum(1 for name in names if not _has_words(name))
    share = 100 * n_short / len(names)
    check_percent("class names have one word", share, MOST_OF_ONE_WORD)


def test_docstrings_begin_with_a_sentence() -> None:
    """If something has a docstring, then its first line is a complete sentence."""
    wrong = [each.place for each in docstrings() if not each.line.endswith(".")]
    assert not wrong


def test_docstrings_of_folders_name_their_modules() -> None:
    """If the docstring of a folder names a module or function, then there is one."""
    known = {path.stem for path in ROOT.rglob("*.py")} | {ROOT.name}
    known |= {path.name for path in ROOT.rglob("*") if path.is_dir()}
    wrong = [
        f"{path.parent.relative_to(ROOT)}: {name}"
        for path in ROOT.rglob("__init__.py")
        for name in _words(path)
        if name not in known | _functions_in(path.parent) and find_spec(name) is None
    ]
    assert not wrong, f"nothing has this name: {wrong}"


def _words(package: Path) -> list[str]:
    text = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    return re.findall(r"`([a-z][a-z_0-9]*)`", text)


def _functions_in(folder: Path) -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    return {name for text in texts for name in re.findall(r"\bdef (\w+)", text)}


def test_docstrings_of_functions_are_orders() -> None:
    """If a function has a docstring, then this begins with a verb: `Return ...`."""
    wrong = [
        f"{each.place}: {each.line}"
        for each in docstrings()
        if each.is_of_call and _is_no_order(each.line)
    ]
    assert not wrong, "\n".join(wrong)


def test_first_sentences_with_bare_pronouns_become_fewer() -> None:
    """If a docstring begins, then it names the thing before it says `it` of it."""
    lines = [each.line for each in docstrings()]
    n_bare = sum(1 for line in lines if _has_pronoun(line))
    share = 100 * n_bare / len(lines)
    check_percent("first sentences have a bare pronoun", share, MOST_WITH_PRONOUNS)
