"""Mend one term of Turtle or TriG, or find it bad; see `mended_statements`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.lenient import GOOD_STRING
from rdfcrawl.rdf.mended_tokens import LABEL, LOCAL, LOCAL_ESCAPE, NUMBER, SCHEME, TAIL

BAD: Final = b"<tag:rdfcrawl,2024:bad-term>"
_BAD_TERM: Final = (BAD, "bad")


@dataclass(eq=False)
class TermMender:
    """Mender of terms, from an offset of the text.

    Attributes:
        bad: a reason for each term that is left out.
    """

    text: bytes
    at: int
    prefixes: Mapping[str, str]
    log: FaultLog
    has_base: bool = field(default=True, kw_only=True)
    bad: list[str] = field(default_factory=list, init=False)

    def _repaired(self, what: str) -> None:
        self.log.note(Reason.REPAIRED, what)

    def _bad(self, why: str, token: bytes = b"") -> tuple[bytes, str]:
        self.bad.append(f"{why}: {shown(token)}" if token else why)
        return _BAD_TERM

    def _iri(self, token: bytes) -> tuple[bytes, str]:
        if not (self.has_base or SCHEME.match(token)):
            return self._bad("relative to an unknown base", token)
        new = terms.mended_term(token[1:-1], self.log)
        return (new, "iri") if new else self._bad("bad IRI", token)

    def _literal(self, token: bytes) -> tuple[bytes, str]:
        tail = TAIL.match(self.text, self.at)
        is_good = GOOD_STRING.fullmatch(token) is not None
        if tail is None:
            return (token, "literal") if is_good else self._bad("bad escape", token)
        self.at = tail.end()
        if tail["tag"] is not None:
            text = tail["tag"].decode("latin-1")
            tag, _, direction = text.partition("--")
            new = terms.language_tag(tag)
            if not new or direction not in ("", "ltr", "rtl") or text.endswith("--"):
                return self._bad("bad language tag", tail[0])
            if new != tag:
                self._repaired(f"language tag {tag[:100]}")
            end = (
                b"@" + new.encode() + (f"--{direction}".encode() if direction else b"")
            )
        elif tail["type"] or tail["name"]:
            name = tail["name"]
            kind, role = self._name(name) if name else self._iri(tail["type"])
            if role == "bad":
                return _BAD_TERM
            if role != "iri" or self._is_tagless(kind):
                return self._bad("bad datatype", kind)
            end = b"^^" + kind
        else:
            return self._bad("no datatype", token)
        return (token + end, "literal") if is_good else self._bad("bad escape", token)

    def _is_tagless(self, term: bytes) -> bool:
        """Return whether an IRI is the datatype of literals with a language."""
        if not term.endswith((b"angString", b"angString>")):
            return False
        prefix, _, local = term.decode().partition(":")
        iri = self.prefixes.get(prefix, f"{prefix}:") + local
        return iri.strip("<>") in (f"{RDF}langString", f"{RDF}dirLangString")

    def _name(self, word: bytes) -> tuple[bytes, str]:
        """Return the term of a word that is neither keyword nor verb."""
        if word.startswith(b"_:"):
            if LABEL.fullmatch(word):
                return word, "blank"
            self._repaired(f"blank node label {shown(word)}")
            label = word[2:].decode("utf-8", "replace")
            return terms.blank(label).encode() if label else b"[]", "blank"
        if NUMBER.fullmatch(word):
            return word, "literal"
        if b":" not in word:
            return self._bad("not a term", word)
        return self._prefixed(word)

    def _prefixed(self, word: bytes) -> tuple[bytes, str]:
        prefix, _, local = word.partition(b":")
        namespace = self.prefixes.get(prefix.decode("utf-8", "replace"))
        if namespace is None:
            return self._bad("undeclared prefix", word)
        if LOCAL.fullmatch(local):
            return word, "iri"
        text = LOCAL_ESCAPE.sub(r"\1", local.decode("utf-8", "replace"))
        try:
            new = terms.mended_iri(namespace + text)
        except ValueError:
            return self._bad("bad name", word)
        self._repaired(f"characters in a name: {shown(word)}")
        return f"<{new}>".encode(), "iri"


def shown(text: bytes) -> str:
    """Return the begin of a text, up to the end of its line, for details."""
    return text[:100].decode("utf-8", "replace").partition("\n")[0]
