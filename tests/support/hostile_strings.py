"""Hostile inputs for regular expressions, made from their own literals and classes.

An expression is worse than linear if a run that it reads may begin at many places, and
its end is missing: `href=[^"]*/x` over `href=href=href=…`. So each repetition of an
expression is pumped behind each beginning that leads to it, and so is the beginning.
"""

from __future__ import annotations

import re
import signal
import time
from contextlib import contextmanager
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    Text = str | bytes
    Chars = tuple[int, ...]
    Use = Callable[[Any], object]

FIRST_CHARS: Final = 6_000  # of the shortest text
_LONG_RUN: Final = 100  # repetitions; fewer cost little wherever they begin
_MAX_PREFIXES: Final = 6
_MAX_TOKENS: Final = 6
_MAX_PUMPS: Final = 60  # of one expression
_SUSPECT_SECS_PER_CHAR: Final = 0.25e-6  # a linear search takes a tenth
_FLOOR_SECS: Final = 0.02  # less is noise
_MAX_GROWTH: Final = 2.9  # over each doubling; a square makes it four
_PATIENCE_SECS: Final = 3.0
_COMMON: Final = [ord(char) for char in "a0/\" <.x:-=\\&;_'>?#@%\n"]
_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES: Final[dict[Any, Callable[[str], bool]]] = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
}
_OPPOSITES: Final = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


class TooLateError(Exception):
    """A call took longer than anyone waits."""


def growth(
    use: Use,
    make: Callable[[int], Text],
    *,
    n_doublings: int = 2,
    floor_secs: float = _FLOOR_SECS,
    first_chars: int = FIRST_CHARS,
    patience_secs: float = _PATIENCE_SECS,
) -> str:
    """Return why a call is worse than linear in the length of its text; else nothing.

    `make` returns a text of about this many characters. CPU time counts, of the shorter
    of two calls.
    """
    try:
        with _alarm(patience_secs):
            text = make(first_chars)
            first = _secs(use, text)
            if n_doublings == 2 and first < _SUSPECT_SECS_PER_CHAR * len(text):
                return ""
            longest = make(first_chars << n_doublings)
            last = _secs(use, longest)
            most = _MAX_GROWTH**n_doublings
            if last > floor_secs and last > most * first:
                first = max(first, _secs(use, text))
                last = min(last, _secs(use, longest))
                if last > most * first:
                    return (
                        f"{first:.4f} s, {2**n_doublings} times as long: {last:.4f} s"
                    )
    except TooLateError:
        return f"more than {patience_secs:.0f} s of CPU"
    return ""


def _secs(use: Use, text: Text) -> float:
    began = time.process_time()
    use(text)
    return time.process_time() - began


@contextmanager
def _alarm(patience_secs: float) -> Iterator[None]:
    """Raise an exception in code that takes too much CPU; `re` looks for signals."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TooLateError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, patience_secs)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def slow_strings(pattern: re.Pattern[Any], use: Use) -> Iterator[str]:
    """Yield texts, shown with their times, for which an expression is not linear."""
    is_bytes = isinstance(pattern.pattern, bytes)
    pumps = _Pumps(pattern)
    # Text that ends in the middle of an escape, or has no end, is no string.
    ends = ["\x00", "\\"] if ord("\\") in pumps.literals else ["\x00"]
    for begin, pumped in pumps.all():
        unit = _text(pumped, is_bytes=is_bytes)
        first = _text(begin, is_bytes=is_bytes)
        for end in ends:
            last: Any = end.encode() if is_bytes else end

            def make(
                n_chars: int, first: Any = first, unit: Any = unit, last: Any = last
            ) -> Text:
                text: Text = first + unit * (n_chars // len(unit)) + last
                return text

            if found := growth(use, make):
                yield f"{first!r} + {unit!r} * n + {last!r}: {found}"


def _text(chars: Chars, *, is_bytes: bool) -> Any:
    return bytes(chars) if is_bytes else "".join(map(chr, chars))


class _Pumps:
    """Begin of a text, and repeated part, for one expression."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        flags = pattern.flags & ~(re.UNICODE | re.DEBUG)
        self._tree = parser.parse(pattern.pattern, flags)
        most = 0xFF if isinstance(pattern.pattern, bytes) else 0x10FFFF
        self.literals = frozenset(_literals(self._tree))
        own = sorted(self.literals)
        self._chars = [x for x in dict.fromkeys([*_COMMON, *own]) if x <= most]
        self._found: dict[tuple[Chars, Chars], None] = {}
        self._tokens: dict[Chars, None] = {}

    def all(self) -> list[tuple[Chars, Chars]]:
        """Return pairs of a beginning and a part that is repeated behind it."""
        self._walk(self._tree, [()])
        if self._found:  # else nothing is read that has no end
            tokens = list(self._tokens)[:_MAX_TOKENS]
            for token in tokens:
                self._found[(), token] = None
                for other in tokens:
                    self._found[(), token + other] = None
        found = [pair for pair in self._found if pair[1]]
        return found[:: 1 + len(found) // _MAX_PUMPS]

    def _walk(self, tree: Iterable[Any], prefixes: list[Chars]) -> None:
        token: Chars = ()
        for code, argument in tree:
            if code is codes.LITERAL:
                token += (argument,)
            elif token:
                self._tokens[token] = None
                token = ()
            if code in _REPEATS and argument[1] >= _LONG_RUN:
                self._pump(argument[2], prefixes)
            for inner in _inner(code, argument):
                self._walk(inner, prefixes)
            samples = self._samples_of(code, argument)
            prefixes = [x + y for y in samples for x in prefixes][:_MAX_PREFIXES]
        if token:
            self._tokens[token] = None

    def _pump(self, body: Any, prefixes: list[Chars]) -> None:
        for prefix in prefixes:
            for sample in self._samples(body, 4):
                self._found[prefix, sample] = None
                self._found[(), prefix + sample] = None
                self._found[(), prefix + sample * 20] = None
            self._found[(), prefix] = None

    def _samples(self, tree: Iterable[Any], most: int) -> list[Chars]:
        """Return texts that a part of an expression matches, at least one."""
        found: list[Chars] = [()]
        for code, argument in tree:
            samples = self._samples_of(code, argument)
            found = [x + y for y in samples for x in found][:most]
        return found

    def _samples_of(self, code: Any, argument: Any) -> list[Chars]:
        if code in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
            if code is codes.LITERAL:
                return [(argument,)]
            chars = [x for x in self._chars if _matches(code, argument, x)]
            return [(char,) for char in chars[:_MAX_PREFIXES]] or [()]
        if code is codes.BRANCH:
            samples = [self._samples(branch, 1)[0] for branch in argument[1]]
            return samples[: 2 * _MAX_PREFIXES]
        if code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            inner = argument[-1] if code is codes.SUBPATTERN else argument
            return self._samples(inner, 4)
        if code in _REPEATS:
            least, _, body = argument
            bodies = self._samples(body, 2)
            return [x * least for x in bodies] if least else [(), bodies[0]]
        return [()]


def _inner(code: Any, argument: Any) -> list[Any]:
    """Return the expressions within a part of an expression."""
    if code in _REPEATS:
        return [argument[2]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.SUBPATTERN:
        return [argument[-1]]
    if code is codes.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def _literals(tree: Iterable[Any]) -> Iterator[int]:
    for code, argument in tree:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            yield argument
        elif code is codes.IN:
            for kind, value in argument:
                if kind is codes.LITERAL:
                    yield value
                elif kind is codes.RANGE:
                    yield value[0]
        for inner in _inner(code, argument):
            yield from _literals(inner)


def _matches(code: Any, argument: Any, char: int) -> bool:
    if code is codes.ANY:
        return char != ord("\n")
    if code is codes.NOT_LITERAL:
        return bool(char != argument)
    is_negated = argument[0][0] is codes.NEGATE
    return is_negated != any(_is_in(kind, value, char) for kind, value in argument)


def _is_in(kind: Any, value: Any, char: int) -> bool:
    if kind is codes.LITERAL:
        return bool(value == char)
    if kind is codes.RANGE:
        return bool(value[0] <= char <= value[1])
    if kind is codes.CATEGORY:
        opposite = _OPPOSITES.get(value)
        is_of = _CATEGORIES[opposite or value](chr(char))
        return bool(is_of) != (opposite is not None)
    return False
