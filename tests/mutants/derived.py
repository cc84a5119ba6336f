"""Mutants that follow from the code: each limit, member, pattern and check less."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutants.modules import SCOPES
from tests.mutants.patterns import weakened

_MANY: Final = "1_000_000"
_LEAVING: Final = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_GROUPS: Final = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is",
    ast.IsNot: "is not",
}  # fmt: skip
_WITH_EQUAL: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
}  # fmt: skip
_TABLES: Final = {"_DENIED": 3, "_JUDGED": 3}  # words of a row, of tables in a text


_is_of_clock = re.compile(r"\b(?:monotonic|used_secs)\(\)").search
# Calls that move data: without them nothing works, and no defence is missing.
_moves = re.compile(
    r"(?:await\s)?(?:[\w.]*\.)?_?"
    r"(?:answer|append|drain|finish|flush|give_back|prepare|send|sleep|start|tell|write)\("
).match


@dataclass(frozen=True, slots=True)
class DerivedMutant:
    """A module with one part of a defence taken out.

    Attributes:
        path: of the module, in the repository.
        line: where the part begins.
        name: of the mutant; does not change with the lines above it.
        text: of the module.
    """

    path: str
    line: int
    name: str
    text: str


def derived_mutants(root: Path, path: str) -> list[DerivedMutant]:
    """Return the mutants of a module; two with the same name are numbered."""
    begin = f"{path}: {SCOPES.get(path, '')}"
    found = _Module(path, (root / path).read_text(encoding="utf-8")).mutants()
    found = (each for each in found if each.name.startswith(begin))
    seen: Counter[str] = Counter()
    mutants = []
    for each in sorted(found, key=lambda mutant: mutant.line):
        seen[each.name] += 1
        n = seen[each.name]
        mutants.append(each if n == 1 else replace(each, name=f"{each.name} #{n}"))
    return mutants


class _Change(NamedTuple):
    """Code that is replaced.

    Attributes:
        old: the code.
        new: the text instead of it.
        what: its name.
        at: where the part is that is taken out; None: `old`.
    """

    old: ast.AST
    new: str
    what: str
    at: ast.AST | None = None


_Changes = Iterator[_Change]


class _Module:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._octets = text.encode()
        self._line_starts = [0]
        for line in self._octets.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))
        self._tree = ast.parse(text)

    def mutants(self) -> Iterator[DerivedMutant]:
        for scope, node in _scoped(self._tree, ""):
            for change in self._changes(node, is_inside="()" in scope):
                yield self._mutant(scope, change)

    def _mutant(self, scope: str, change: _Change) -> DerivedMutant:
        begin, end = self._span(change.old)
        octets = self._octets[:begin] + change.new.encode() + self._octets[end:]
        line = getattr(change.at or change.old, "lineno", 1)
        name = f"{self._path}: {scope}: {' '.join(change.what.split())}"
        return DerivedMutant(self._path, line, name, octets.decode())

    def _span(self, node: ast.AST) -> tuple[int, int]:
        at = ast.Constant(0)
        ast.copy_location(at, node)
        end_line = at.end_lineno or at.lineno
        begin = self._line_starts[at.lineno - 1] + at.col_offset
        return begin, self._line_starts[end_line - 1] + (at.end_col_offset or 0)

    def _source(self, node: ast.AST) -> str:
        begin, end = self._span(node)
        return self._octets[begin:end].decode()

    def _changes(self, node: ast.AST, *, is_inside: bool) -> _Changes:
        """Yield the replaced text, the replacement, and the name of the mutant."""
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if not is_inside:
                    yield from self._of_constant(node, value)
            case ast.Call():
                yield from self._of_call(node)
            case ast.If(test=test, body=[*_, last]):
                if isinstance(last, _LEAVING):
                    yield _Change(test, "False", f"if {self._source(test)}")
            case ast.BoolOp():
                yield from self._without_each_operand(node)
            case ast.Compare():
                yield from self._of_comparison(node)
            case _:
                yield from self._of_part(node)

    def _of_comparison(self, node: ast.Compare) -> _Changes:
        if len(node.comparators) == 1:
            (right,) = node.comparators
            if isinstance(right, _GROUPS):
                yield from self._without_each_member(right)
            yield from self._of_number(right)
        sides = [self._source(each) for each in (node.left, *node.comparators)]
        for n, op in enumerate(node.ops):
            pair = sides[n] + sides[n + 1]
            if type(op) not in _WITH_EQUAL or _is_of_clock(pair):
                continue  # no test can meet the very moment of a clock
            words = [_SIGNS[type(each)] for each in node.ops]
            old, words[n] = words[n], _WITH_EQUAL[type(op)]
            parts = zip(words, sides[1:], strict=True)
            new = " ".join([f"({sides[0]})", *(f"{w} ({side})" for w, side in parts)])
            what = f"{sides[n]} {words[n]} {sides[n + 1]}, not {old}"
            yield _Change(node, new, what, node.comparators[n])

    def _of_part(self, node: ast.AST) -> _Changes:
        match node:
            case ast.Constant(str() as text) if half := _half_of(text):
                yield _Change(node, repr(half), f"{text} halved")
            case ast.Slice(upper=ast.expr() as upper):
                yield from self._of_number(upper)
            case ast.Expr(value=ast.Call() | ast.Await() as value) if not _moves(
                source := self._source(value)
            ):
                yield _Change(value, "None", f"call {source}")

    def _of_constant(
        self, node: ast.Assign | ast.AnnAssign, value: ast.expr
    ) -> _Changes:
        yield from self._of_number(value)
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        words = _TABLES.get(getattr(target, "id", ""))
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            if words:
                yield from _without_each_row(value, words)
            yield from _without_each_directive(value)
            return
        for group in _groups(value):
            yield from self._without_each_member(group)

    def _of_number(self, value: ast.expr) -> _Changes:
        if _number_of(value) > 1:
            source = self._source(value)
            yield _Change(value, f"({source}) * {_MANY}", f"{source} times {_MANY}")

    def _of_call(self, node: ast.Call) -> _Changes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("re")),
                args=[ast.Constant(str() | bytes() as pattern) as where, *_],
            ):
                yield from _of_pattern(where, pattern)
        for keyword in node.keywords:
            value = keyword.value
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                new = str(not value.value)
                yield _Change(value, new, f"{keyword.arg}={new}")
            elif keyword.arg is not None and keyword.arg != "status":
                for each in self._of_number(value):
                    yield each._replace(what=f"{keyword.arg}={each.what}")

    def _without_each_operand(self, node: ast.BoolOp) -> _Changes:
        word = " and " if isinstance(node.op, ast.And) else " or "
        texts = [f"({self._source(each)})" for each in node.values]
        for n, text in enumerate(texts):
            rest = word.join(texts[:n] + texts[n + 1 :])
            yield _Change(node, f"({rest})", f"without{word}{text}", node.values[n])

    def _without_each_member(
        self, group: ast.Tuple | ast.List | ast.Set | ast.Dict
    ) -> _Changes:
        opening, closing = {
            ast.Tuple: ("(", ")"), ast.List: ("[", "]"),
            ast.Set: ("{*(", ")}"), ast.Dict: ("{", "}"),
        }[type(group)]  # fmt: skip
        members = group.values if isinstance(group, ast.Dict) else group.elts
        if isinstance(group, ast.Dict):
            pairs = zip(group.keys, group.values, strict=True)
            texts = [
                f"{self._source(key)}: {self._source(value)}" if key else
                f"**{self._source(value)}"
                for key, value in pairs
            ]  # fmt: skip
        else:
            texts = [self._source(each) for each in members]
        for n, text in enumerate(texts):
            if text.startswith(("*(", "*{", "*[")):
                continue  # its own members are left out one by one
            rest = "".join(f"{each}, " for each in texts[:n] + texts[n + 1 :])
            new = f"{opening}{rest}{closing}"
            yield _Change(group, new, f"without {text}", members[n])


def _scoped(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes of code with the function, class or constant they are in."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = f"{scope}.{child.name}()".lstrip(".")
            case ast.ClassDef():
                inner = f"{scope}.{child.name}".lstrip(".")
            case (
                ast.Assign(targets=[ast.Name(name)])
                | ast.AnnAssign(target=ast.Name(name))
            ):
                inner = scope if "()" in scope else f"{scope}.{name}".lstrip(".")
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                continue
            case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
                continue
            case ast.Expr(value=ast.Constant()) | ast.Assert():
                continue
            case ast.Call(func=ast.Name("dataclass")):
                continue
        yield inner, child
        if not isinstance(child, ast.Raise):  # messages defend nothing
            yield from _scoped(child, inner)


def _groups(
    value: ast.AST,
) -> Iterator[ast.Tuple | ast.List | ast.Set | ast.Dict]:
    """Yield the outermost groups of a value; also those that are unpacked in one."""
    if isinstance(value, _GROUPS):
        yield value
        members = [] if isinstance(value, ast.Dict) else value.elts
        for member in members:
            if isinstance(member, ast.Starred) and isinstance(member.value, _GROUPS):
                yield from _groups(member.value)
        return
    match value:
        case ast.Attribute() | ast.JoinedStr() | ast.Subscript():
            return
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            inner: list[ast.AST] = [each.iter for each in value.generators]
        case _:
            inner = [*ast.iter_child_nodes(value)]
    for child in inner:
        yield from _groups(child)


def _of_pattern(where: ast.expr, pattern: str | bytes) -> _Changes:
    is_text = isinstance(pattern, str)
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    for each in weakened(text):
        new = each.text if is_text else each.text.encode("latin-1")
        yield _Change(where, repr(new), f"pattern without {each.without!a}")


def _without_each_row(value: ast.Constant, n_words: int) -> _Changes:
    words = str(value.value).split()
    for at in range(0, len(words), n_words):
        rest = words[:at] + words[at + n_words :]
        yield _Change(value, repr(" ".join(rest)), f"without {words[at]}")


def _without_each_directive(value: ast.Constant) -> _Changes:
    parts = str(value.value).split(";")
    if len(parts) > 2:
        for n, part in enumerate(parts):
            rest = ";".join(parts[:n] + parts[n + 1 :])
            yield _Change(value, repr(rest), f"without {part.strip()}")


def _number_of(value: ast.expr) -> float:
    """Return a number that is spelt with numbers only; 0 for anything else."""
    nodes = (ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)
    if not all(isinstance(each, nodes) for each in ast.walk(value)):
        return 0
    found = eval(compile(ast.Expression(value), "", "eval"))
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return found if is_number else 0


def _half_of(text: str) -> str:
    """Return the first half of the network that a text spells; empty for any other."""
    try:
        network = ip_network(text) if "/" in text else None
    except ValueError:
        return ""
    if network is None or network.num_addresses == 1:
        return ""
    return f"{network.network_address}/{network.prefixlen + 1}"
