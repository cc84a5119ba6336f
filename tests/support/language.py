"""Counts of words that plain English does without, in code and in pages.

`python -m tests.support.language rdfcrawl/rdf docs` lists the places and the rates.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Word -> the most of it in 10,000 words.
MOST: Final = {
    "relative clause": 5.0,
    "whole": 4.0,
    "tell": 3.0,
    "nobody": 1.0,
    "anew": 1.0,
    "beside": 1.0,
    "bear": 0.5,
}
_PATTERNS: Final = {
    "relative clause": (
        r"what (?:is|was|are|were|has|had|came|comes|became|becomes|it|they|he|a|an|the"
        r"|its|their|this|that|each|does|did|may|can)"
        r"|whoever|whatever|whichever|whomever|that which|(?<=[.:;] )What(?! \w+\?)"
    ),
    "whole": r"whole",
    "tell": r"tell|tells|told|state_texts",
    "nobody": r"nobody|somebody",
    "anew": r"anew",
    "beside": r"beside",
    "bear": r"bears|borne|bearing",
}
_is_word: Final = {
    name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE).finditer
    for name, pattern in _PATTERNS.items()
}
_questions = re.compile(r"[^.:;|#\n]*\?")
# A scan of the source takes a tenth of the time of `tokenize`.
_strings_and_comments = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|'
    r"'(?:[^'\\\n]|\\.)*'|#[^\n]*",
    re.DOTALL,
).finditer
_placeholders = re.compile(r"\{[^{} ]*\}")
_code = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prose:
    """A piece of English and its place."""

    path: Path
    line: int
    text: str

    @property
    def n_words(self) -> int:
        """The number of its words."""
        return len(self.text.split())

    def found(self) -> Iterator[str]:
        """Yield the name of each counted word in it; questions do not count."""
        text = _questions.sub("", self.text)
        for name, find in _is_word.items():
            for _ in find(text):
                yield name


def prose(root: Path) -> Iterator[Prose]:
    """Yield the English below a folder: docstrings, comments, messages, pages."""
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        if path.suffix == ".py":
            yield from _of_module(path)
        elif path.suffix == ".md":
            text = _code.sub(_blanked, path.read_text("utf-8"))
            for line, paragraph in enumerate(text.splitlines(), 1):
                yield Prose(path, line, paragraph)


def rates(pieces: list[Prose]) -> dict[str, float]:
    """Return how often each counted word occurs in 10,000 words."""
    n_words = sum(piece.n_words for piece in pieces)
    counts = Counter(name for piece in pieces for name in piece.found())
    return {name: 10_000 * counts[name] / max(n_words, 1) for name in MOST}


def _of_module(path: Path) -> Iterator[Prose]:
    source = path.read_text("utf-8")
    line, end = 1, 0
    for match in _strings_and_comments(source):
        line += source.count("\n", end, match.start())
        end = match.start()
        if " " in match[0]:
            yield Prose(path, line, _placeholders.sub("", match[0]))


def _blanked(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n") or "x"


def main() -> None:
    """Print the places and the rates of each folder of the command line."""
    for root in map(Path, sys.argv[1:]):
        pieces = list(prose(root))
        for piece in pieces:
            for name in piece.found():
                print(f"{piece.path}:{piece.line}: {name}")
        for name, rate in rates(pieces).items():
            print(f"{root}: {name} {rate:.1f} (most {MOST[name]:.1f})")


if __name__ == "__main__":
    main()
