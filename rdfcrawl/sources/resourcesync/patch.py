"""Apply patches: the changes of a resource, instead of the resource.

Source: ANSI/NISO Z39.99-2017, section "Patching Content"; RFC 6902 "JSON Patch".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from rdfcrawl.core.errors import Reason, SourceFault, install_hint
from rdfcrawl.rdf.nesting import refuse_constant
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, check_bytes

# RFC 6902 section 6, and the example in the standard.
JSON_PATCH_TYPES: Final = frozenset(
    {"application/json-patch+json", "application/json-patch"}
)


MAX_BYTES: Final = 16 * 2**20  # of a patch, of its input and of its output, each
MAX_OPERATIONS: Final = 10_000
# Total number of values copied and compared by operations: an operation that copies a
# document into itself doubles it.
MAX_COPIED: Final = 1_000_000
MAX_DEPTH: Final = 200  # of nested arrays and objects


def why_unsupported(media_type: str) -> str:
    """Return why patches of a media type cannot be applied; empty if they can.

    >>> why_unsupported("Application/JSON-Patch+json; charset=utf-8")
    ''
    """
    if not media_type:
        return "without media type"
    if media_type.partition(";")[0].strip().lower() not in JSON_PATCH_TYPES:
        return media_type[:80]
    return "" if _has_library() else f"{media_type}: {install_hint('json-patch')}"


@cache
def _has_library() -> bool:
    return find_spec("jsonpatch") is not None


def apply_patch(
    data: bytes,
    patch: bytes,
    *,
    media_type: str,
    fixity: ExpectedBytes = ExpectedBytes(),  # noqa: B008  frozen, and empty
) -> bytes:
    """Return the bytes of a resource after a patch; `fixity` applies to them.

    The JSON keeps its indent, separators, escapes and end, so that the digest of the
    new bytes can match.

    Raises:
        SourceFault: `UNSUPPORTED_PATCH` for another kind of patch; `TOO_LARGE`;
            `BAD_ANSWER` if the patch is invalid or does not apply; `BAD_FIXITY` if the
            result differs. Then the full resource is requested.
    """
    if detail := why_unsupported(media_type):
        raise SourceFault(Reason.UNSUPPORTED_PATCH, detail)
    if max(len(data), len(patch)) > MAX_BYTES:
        raise SourceFault(Reason.TOO_LARGE, f"patch: over {MAX_BYTES} bytes")
    try:
        after = _patched(data, patch)
    except (RecursionError, MemoryError) as error:
        raise SourceFault(Reason.TOO_LARGE, f"patch: {type(error).__name__}") from error
    check_bytes(after, fixity)
    return after


def _patched(data: bytes, patch: bytes) -> bytes:
    text, document = _read(data, "resource")
    _, operations = _read(patch, "patch")
    if not isinstance(operations, list):
        raise SourceFault(Reason.BAD_ANSWER, "patch: not a list of operations")
    if len(operations) > MAX_OPERATIONS:
        detail = f"patch: over {MAX_OPERATIONS} operations"
        raise SourceFault(Reason.TOO_LARGE, detail)
    style = _style_of(text, document)
    after = style.write(_applied(document, operations))
    if len(after) > MAX_BYTES:
        raise SourceFault(Reason.TOO_LARGE, f"patch: over {MAX_BYTES} bytes")
    return after


def _read(data: bytes, what: str) -> tuple[str, Any]:
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        raise SourceFault(Reason.BAD_ANSWER, f"{what}: {error}") from error
    _count(value, MAX_BYTES)
    return text, value


def _applied(document: Any, operations: list[Any]) -> Any:
    from jsonpatch import JsonPatch

    n_left = MAX_COPIED
    for i, operation in enumerate(operations):
        where = f"patch: operation {i}"
        if not isinstance(operation, dict):
            raise SourceFault(Reason.BAD_ANSWER, f"{where} is not an object")
        try:
            n_left -= _n_copied(document, operation, n_left)
            _check_booleans(document, operation)
            document = JsonPatch([operation]).apply(document, in_place=True)
        except (SourceFault, RecursionError, MemoryError):
            raise
        except Exception as error:  # of the library, and of Python
            detail = f"{where}: {type(error).__name__}: {error}"
            raise SourceFault(Reason.BAD_ANSWER, detail) from error
    return document


def _n_copied(document: Any, operation: dict[str, Any], n: int) -> int:
    """Return the number of values copied or compared by an operation; at most `n`."""
    if operation.get("op") in {"copy", "move"}:
        path = operation["from"]
    elif operation.get("op") == "test":
        path = operation["path"]
    else:
        return 1
    return _count(_value_at(document, path), n)


def _check_booleans(document: Any, operation: dict[str, Any]) -> None:
    """Fail a test that would only pass because `True == 1` in Python."""
    if operation.get("op") != "test" or "value" not in operation:
        return
    found = _value_at(document, operation["path"])
    pairs = zip(_walk(found), _walk(operation["value"]), strict=False)
    if any(isinstance(a, bool) != isinstance(b, bool) for a, b in pairs):
        raise ValueError("a boolean is not a number")


def _value_at(document: Any, path: str) -> Any:
    from jsonpointer import resolve_pointer

    return resolve_pointer(document, path)


def _walk(value: Any) -> Iterator[Any]:
    """Yield a value and all its parts, members of objects in the order of names."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting.extend(value[name] for name in sorted(value, reverse=True))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _count(value: Any, n_most: int) -> int:
    """Return the number of values in a value, at most `n_most`."""
    waiting, n = [(value, 1)], 0
    while waiting:
        value, level = waiting.pop()
        n += 1
        if n > n_most or level > MAX_DEPTH:
            detail = "too deep" if level > MAX_DEPTH else "copies too much"
            raise SourceFault(Reason.TOO_LARGE, f"patch: {detail}")
        if isinstance(value, dict):
            waiting.extend((each, level + 1) for each in value.values())
        elif isinstance(value, list):
            waiting.extend((each, level + 1) for each in value)
    return n


@dataclass(frozen=True, slots=True)
class _Style:
    indent: int | str | None = None
    separators: tuple[str, str] = (",", ":")
    is_ascii: bool = False
    end: str = ""

    def write(self, value: Any) -> bytes:
        text = json.dumps(
            value,
            ensure_ascii=self.is_ascii,
            indent=self.indent,
            separators=self.separators,
        )
        return (text + self.end).encode("utf-8", "surrogatepass")


def _style_of(text: str, value: Any) -> _Style:
    """Return the style of a document; the compact style by default."""
    end = text[len(text.rstrip()) :]
    lines = text.strip().split("\n", 2)
    indent: int | str | None = None
    if len(lines) > 1:
        blank = lines[1][: len(lines[1]) - len(lines[1].lstrip())]
        indent = blank if blank.strip(" ") else len(blank)
    written = text.encode()
    for is_ascii in (False, True):
        for separators in ((",", ": "), (",", ":"), (", ", ": "), (", ", ":")):
            style = _Style(indent, separators, is_ascii, end)
            if style.write(value) == written:
                return style
    return _Style(end=end)
