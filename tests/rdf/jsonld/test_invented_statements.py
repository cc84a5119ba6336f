"""Terms that look like the end of a statement and another one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.jsonld_reading import read

_BREAKS = ("\n", "\r", " ", "\u2028")
_NEXT = "<http://e.org/x> <http://e.org/y> <http://e.org/z>"
_LATE = 5 * 2**20  # bytes before a value of which the reader cannot begin again
_SUBJECT = "http://e.org/s"
_VALUES: dict[str, Any] = {
    "language": {"@value": "v", "@language": f"en .BREAK{_NEXT}"},
    "IRI": {"@id": f"http://e.org/o> .BREAK{_NEXT[:-1]}"},
    "datatype": {"@value": "v", "@type": f"http://e.org/t> .BREAK{_NEXT[:-1]}"},
    "blank node": {"@id": f"_:b .BREAK{_NEXT}"},
    "node": {"@id": f"http://e.org/x> <http://e.org/y> 5 .BREAK<{_SUBJECT}", "q": 1},
    "graph of an IRI": {"@id": "http://e.org/o> <http://e.org/g"},
    "graph of a language": {"@value": "v", "@language": "en <http://e.org/g>"},
}


@pytest.mark.parametrize("is_late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("kind", _VALUES)
def test_terms_add_no_statements(kind: str, *, is_late: bool) -> None:
    """If a term looks like parts of statements, then no statement comes of them."""
    values = [_broken(_VALUES[kind], each) for each in _BREAKS]
    long = ["x" * 2**19 + str(i) for i in range(_LATE // 2**19)] if is_late else []
    statements, faults = read(
        {
            "@context": {"@vocab": "http://e.org/"},
            "@id": _SUBJECT,
            "p": [*long, *values, "line\nfeed"],
        }
    )
    lines = [line for line in statements.splitlines() if b'"xxxx' not in line]
    first = f"<{_SUBJECT}> <http://e.org/p> ".encode()
    assert first + b'"line\\nfeed" .' in lines
    assert all(b"/y>" not in line and b"/g>" not in line for line in lines)
    if kind != "blank node":  # labels of these are free
        assert faults
        assert len(lines) == 1


def _broken(value: dict[str, Any], line_break: str) -> dict[str, Any]:
    return {
        key: each.replace("BREAK", line_break) if isinstance(each, str) else each
        for key, each in value.items()
    }
