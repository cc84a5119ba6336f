"""Load and check rule files at start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError, needed_by_operator
from rdfcrawl.rdf.html.rules import squirrel
from rdfcrawl.rdf.html.rules.iris import default_prefixes, expand, is_prefix
from rdfcrawl.rdf.html.rules.model import PageRule, RulePlace
from rdfcrawl.rdf.html.rules.nodes import (
    RuleError,
    TableNode,
    entries_of,
    made,
    table_in,
    text_at,
)
from rdfcrawl.rdf.html.rules.notation import read_rule
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.rdf.html.rules.nodes import Node

MAX_FILE_BYTES: Final = 2**20
MAX_FILES: Final = 10_000

_SUFFIXES = frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRule:
    """A Squirrel rule without a counterpart here, for a `reason`."""

    rule: str
    place: RulePlace
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: rule {self.rule}: {self.reason}"


@dataclass(frozen=True)
class RuleSet:
    """Rules of files, in order; `refused` are the unusable Squirrel rules."""

    rules: tuple[PageRule, ...]
    refused: tuple[RefusedRule, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is a rule."""
        return bool(self.rules)

    def matching(self, url: str) -> tuple[PageRule, ...]:
        """Return the rules for a page, with the captured parts of its URL."""
        if not self.rules:
            return ()
        numbers = self._by_host.get(host_of(url), []) + self._by_host.get("", [])
        matching = []
        for number in sorted(set(numbers)):
            rule = self.rules[number]
            for pattern in rule.patterns:
                captured = pattern.match(url)
                if captured is not None:
                    matching.append(replace(rule, captured=captured))
                    break
        return tuple(matching)

    @cached_property
    def _by_host(self) -> dict[str, list[int]]:
        """Numbers of the rules by host; key "": rules for more than one host."""
        numbers: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for pattern in rule.patterns:
                for host in pattern.hosts or ("",):
                    numbers.setdefault(host, []).append(number)
        return numbers


@lru_cache(maxsize=8)
def rules_in(path: str) -> RuleSet:
    """Return the rules of a file or folder, read once; none for an empty path.

    Raises:
        ConfigError: a rule is wrong.
    """
    return load_rules(Path(path)) if path else RuleSet(())


def load_rules(path: Path) -> RuleSet:
    """Return the rules of a file, or of all `*.yaml` and `*.yml` in a folder.

    Raises:
        ConfigError: one line with file, line, rule and the mistake.
    """
    rules: list[PageRule] = []
    refused: list[RefusedRule] = []
    for file in _files(path):
        own, left_out = _read_file(file)
        rules += own
        refused += left_out
    return RuleSet(tuple(rules), tuple(refused))


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        files = sorted(x for x in path.iterdir() if x.suffix.lower() in _SUFFIXES)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if not files:
        raise ConfigError(f"{path}: has no rule files (*.yaml, *.yml)")
    if len(files) > MAX_FILES:
        raise ConfigError(f"{path}: has more than {MAX_FILES} rule files")
    return files


def _read_file(path: Path) -> tuple[list[PageRule], list[RefusedRule]]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: longer than {MAX_FILE_BYTES} bytes")
    with needed_by_operator("rules", "SCRAPING_RULES"):
        from rdfcrawl.rdf.html.rules.yaml_nodes import read_yaml  # noqa: PLC0415 (an extra)
    try:
        root = read_yaml(content)
        if isinstance(root, TableNode) and squirrel.FILE_KEY in root.entries():
            return _squirrel_rules(path, root.entries()[squirrel.FILE_KEY][1])
        return list(_own_rules(path, root)), []
    except RuleError as misfit:
        raise ConfigError(_line(path, misfit)) from misfit


def _own_rules(path: Path, root: Node) -> Iterator[PageRule]:
    entries = entries_of(root, ("prefixes", "rules"), "a rule file")
    prefixes = dict(default_prefixes())
    for prefix, (line, node) in table_in(entries, "prefixes", None).items():
        if not is_prefix(prefix):
            raise RuleError(line, f"{prefix!r} is not a prefix")
        prefixes[prefix] = made(line, expand, text_at(line, node), {})
    if "rules" not in entries:
        raise RuleError(root.line, "`rules` is missing")
    rules = table_in(entries, "rules", None)
    if not rules:
        raise RuleError(entries["rules"][0], "there are no rules")
    for name, (line, node) in rules.items():
        try:
            yield read_rule(name, RulePlace(path, line), node, prefixes)
        except RuleError as misfit:
            raise ConfigError(_line(path, misfit, name)) from misfit


def _squirrel_rules(path: Path, node: Node) -> tuple[list[PageRule], list[RefusedRule]]:
    rules: list[PageRule] = []
    refused: list[RefusedRule] = []
    for name, place, read in squirrel.iter_rules(path, node):
        try:
            rules.append(read())
        except RuleError as misfit:
            at = replace(place, line=misfit.line)
            refused.append(RefusedRule(rule=name, place=at, reason=misfit.message))
    return rules, refused


def _line(path: Path, misfit: RuleError, rule: str = "") -> str:
    name = f"rule {rule}: " if rule else ""
    return " ".join(f"{RulePlace(path, misfit.line)}: {name}{misfit.message}".split())
