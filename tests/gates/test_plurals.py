"""Messages with a number and a noun take the noun from `counted`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2] / "rdfcrawl"
# These imitate programs of others.
IMITATIONS = ROOT / "dataweb" / "nodes"

_NOUN = r"(?!(?:of|for|if|that|in|to|and|or)\b)[A-Za-z'-]+ "
_NO_NOUNS = r"(?!(?:is|its|as|was|has|this|waits|ms)\b)"
_PLURAL = rf" (?:{_NOUN}){{0,2}}?{_NO_NOUNS}[A-Za-z]+s\b"
_is_plural = re.compile(_PLURAL).match
_in_percents = re.compile(rf"%,?d{_PLURAL}").search
# Of a string, or of two that are written one after the other.
_may_have_plural = re.compile(rf"\}}(?:['\"]\s*f?['\"])?{_PLURAL}|%,?d ").search
_in_templates = re.compile(rf"\|(?:number|length) \}}\}}{_PLURAL}").search
_in_scripts = re.compile(rf"format\([^()]*\)\}}{_PLURAL}").search
_is_count = re.compile(
    r"(?:len|sum)\(|(?:.*\.)?_?(?:n|n_\w+|max_\w+|most\w*|limit|total|size|length|count"
    r"|more|\w+_(?:bytes|chars))$"
).match
_is_constant = re.compile(r"(?:\w+\.)*[A-Z_]+$").match


def faulty(text: str) -> Iterator[str]:
    """Yield the messages of a module with numbers but without `counted`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            for value, after in zip(node.values, node.values[1:], strict=False):
                if not (
                    isinstance(value, ast.FormattedValue)
                    and isinstance(after, ast.Constant)
                    and isinstance(after.value, str)
                    and is_number(value)
                    and _is_plural(after.value)
                ):
                    continue
                yield f"{node.lineno}: {ast.unparse(value.value)}{after.value}"
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _in_percents(node.value)
        ):
            yield f"{node.lineno}: {node.value}"


def is_number(value: ast.FormattedValue) -> bool:
    """Return whether a place of an f-string gets a count that may be one."""
    name, spec = ast.unparse(value.value), value.format_spec
    if spec is not None and ast.unparse(spec) not in {"f','", "f',d'", "f'd'"}:
        return False
    return not _is_constant(name) and bool(spec or _is_count(name))


def test_numbers_agree_with_their_nouns() -> None:
    """If a text has a number before a noun, then `counted` gives both."""
    found = []
    for path in sorted(ROOT.rglob("*")):
        if IMITATIONS in path.parents or "vendor" in path.parts:
            continue
        name = path.relative_to(ROOT)
        text = path.read_text("utf-8") if path.suffix in {".py", ".html", ".js"} else ""
        if path.suffix == ".py" and _may_have_plural(text):
            found += [f"{name}:{one}" for one in faulty(text)]
        elif path.suffix in {".html", ".js"}:
            for number, line in enumerate(text.splitlines(), 1):
                if _in_templates(line) or _in_scripts(line):
                    found.append(f"{name}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_a_plural_is_found() -> None:
    """If a message writes its own plural, then the gate names it."""
    for text in (
        'f"{n_hosts:,} hosts"',
        'f"{len(found)} finished segments had"',
        'f"{report.n_left_out} old files are read"',
        '"waiting for %d hosts that do not respond"',
        'f"{a:,} documents" f"{b}"',
        'f"{a:,}" f" documents of {b}"',
        '(f"{a:,}"\n    " documents")',
    ):
        assert _may_have_plural(text), text
        assert list(faulty(text)), text
    for text in ('f"{n:,} of its host"', 'f"{MAX_BYTES:,} bytes"', '"%d s"'):
        assert not list(faulty(text)), text
    assert _in_templates("<p>{{ it.n_rows|number }} rows</p>")
    assert _in_scripts("`${count.format(hosts)} hosts`")


def test_one_is_singular() -> None:
    """If there is one, then noun and verb are in the singular."""
    assert counted(1, "host") == "1 host"
    assert counted(0, "host") == "0 hosts"
    assert counted(1234, "URI waits", "URIs wait") == "1,234 URIs wait"
