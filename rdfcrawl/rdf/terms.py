"""Write terms with any characters as N-Quads.

Invalid terms (a relative IRI, a bad language tag) are escaped so that each stays one
token: `checking.check` then drops the statement.
"""

from __future__ import annotations

import re

# An IRIREF of N-Quads needs escapes for these; `check` refuses them.
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]")
# N-Quads requires few of these escapes; the others end a line in some tools, or change
# the text direction on a terminal.
_IN_LITERAL = re.compile(
    r'[\x00-\x1f"\\\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9]")
_NOT_IN_LANGUAGE = re.compile(r"[^A-Za-z0-9-]")


def has_forbidden(value: str) -> bool:
    """Return whether a text has characters that are not allowed in IRIs."""
    return _NOT_IN_IRI.search(value) is not None


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


def resource(name: str, scope: str = "") -> str:
    """Return an IRI or blank node (`_:label`) as a term; scopes separate labels."""
    return blank(scope + name[2:]) if name.startswith("_:") else iri(name)


def literal(text: str, *, datatype: str = "", language: str = "") -> str:
    r"""Return a literal as a term; lone surrogates become U+FFFD.

    Control characters are escaped, so the lines are safe on terminals.

    >>> literal('a "b"', language="en")
    '"a \\"b\\""@en'
    """
    # Much faster than an expression: most texts need no escapes.
    is_plain = text.isascii() and text.isprintable()
    if not is_plain or '"' in text or "\\" in text:
        text = _IN_LITERAL.sub(_escape, text)
    if language:
        if not language.isalpha() or not language.isascii():  # unusual
            language = _NOT_IN_LANGUAGE.sub("_", language)
        return f'"{text}"@{language}'
    return f'"{text}"^^{iri(datatype)}' if datatype else f'"{text}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _ESCAPES.get(char) or f"\\u{ord(char):04X}"


def statement(subject: str, predicate: str, obj: str, graph: str = "") -> str:
    r"""Return the line of a statement made of terms.

    >>> statement("_:a", "<http://e/p>", '"x"')
    '_:a <http://e/p> "x" .\n'
    """
    return f"{subject} {predicate} {obj} {graph + ' ' if graph else ''}.\n"
