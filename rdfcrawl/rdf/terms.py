"""Writes terms as N-Quads, whatever is in them.

What is not a term (a relative IRI, a bad language tag) is written all the same,
escaped so that it stays one token: `checking.check` then drops the statement.
"""

from __future__ import annotations

import re

# N-Quads IRIREF has none of these unescaped; escaped ones are refused by `check`.
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]")
_IN_LITERAL = re.compile(r'["\\\n\r\ud800-\udfff]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9]")
_NOT_IN_LANGUAGE = re.compile(r"[^A-Za-z0-9-]")


def iri(value: str) -> str:
    """Return an IRI as a term.

    >>> iri("http://example.org/a")
    '<http://example.org/a>'
    """
    if _NOT_IN_IRI.search(value):
        value = _NOT_IN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", value)
    return f"<{value}>"


def blank(label: str) -> str:
    """Return a blank node as a term; equal labels give equal nodes.

    >>> blank("a_b")
    '_:ax5fxb'
    """
    return "_:" + _NOT_IN_LABEL.sub(lambda found: f"x{ord(found[0]):x}x", label)


def literal(text: str, *, datatype: str = "", language: str = "") -> str:
    r"""Return a literal as a term; lone surrogates become U+FFFD.

    >>> literal('a "b"', language="en")
    '"a \\"b\\""@en'
    """
    if not _is_plain(text):
        text = _IN_LITERAL.sub(lambda x: _ESCAPES.get(x[0], "\ufffd"), text)
    if language:
        if not language.isalpha() or not language.isascii():  # most are such
            language = _NOT_IN_LANGUAGE.sub("_", language)
        return f'"{text}"@{language}'
    return f'"{text}"^^{iri(datatype)}' if datatype else f'"{text}"'


def _is_plain(text: str) -> bool:
    """Tell whether a text needs no escapes; far quicker than an expression can."""
    return (
        text.isascii()  # else there may be surrogates
        and '"' not in text
        and "\\" not in text
        and "\n" not in text
        and "\r" not in text
    )


def statement(subject: str, predicate: str, obj: str, graph: str = "") -> str:
    r"""Return the line of a statement made of terms.

    >>> statement("_:a", "<http://e/p>", '"x"')
    '_:a <http://e/p> "x" .\n'
    """
    return f"{subject} {predicate} {obj} {graph + ' ' if graph else ''}.\n"
