"""Mend one term of Turtle or TriG, or find it bad; see `mended_statements`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.lenient import GOOD_STRING, without_json_escapes
from rdfcrawl.rdf.mended_tokens import (
    LABEL,
    LOCAL,
    LOCAL_ESCAPE,
    NO_SCHEME,
    NUMBER,
    PATH,
    PREFIX,
    SCHEME,
    TAIL,
)

BAD: Final = b"<tag:rdfcrawl,2024:bad-term>"
BAD_TERM: Final = (BAD, "bad")
_NO_TAG = re.compile(rb"@(?=\s*+[;,.\])}])")


@dataclass(eq=False)
class TermMender:
    """Mender of terms, from an offset of the text.

    Attributes:
        bad: a reason for each term that is left out.
        assumed: well-known prefixes that are used, and not declared.
    """

    text: bytes
    at: int
    prefixes: Mapping[str, str]
    log: FaultLog
    has_base: bool = field(default=True, kw_only=True)
    is_n3: bool = field(default=False, kw_only=True)
    usual: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # prefixes
    bad: list[str] = field(default_factory=list, init=False)
    assumed: dict[str, str] = field(default_factory=dict, init=False)

    def _repaired(self, what: str) -> None:
        self.log.note(Reason.REPAIRED, what)

    def _bad(self, why: str, token: bytes = b"") -> tuple[bytes, str]:
        self.bad.append(f"{why}: {shown(token)}" if token else why)
        return BAD_TERM

    def _iri(self, token: bytes) -> tuple[bytes, str]:
        if token.startswith(b"<<"):
            self._repaired("a second bracket around an IRI")
            token = b"<" + token.strip(b"<>") + b">"
        if token.startswith(b"<_:") and LABEL.fullmatch(label := token[1:-1].decode()):
            self._repaired(f"a blank node in place of an IRI: {label[:100]}")
            return label.encode(), "blank"
        if not self._may_be_iri(token):
            why = "no scheme" if self.has_base else "relative to an unknown base"
            return self._bad(why, token)
        new = terms.mended_term(token[1:-1], self.log)
        return (new, "iri") if new else self._bad("bad IRI", token)

    def _may_be_iri(self, token: bytes) -> bool:
        """Return whether a token has a scheme, or is relative to a known base."""
        is_relative = self.has_base and not NO_SCHEME.match(token, 1)
        return is_relative or SCHEME.match(token) is not None

    def _with_quotes(self, token: bytes) -> bytes:
        """Return a long string with the quotation marks that follow its end."""
        quote = token[:1]
        n_quotes = 0
        while token.startswith(3 * quote) and n_quotes < 2:
            if self.text[self.at : self.at + 1] != quote:
                break
            self.at += 1
            n_quotes += 1
        if n_quotes:
            self._repaired("quotation marks at the end of a long string")
        return token[:-3] + n_quotes * (b"\\" + quote) + token[-3:]

    def _literal(self, token: bytes) -> tuple[bytes, str]:
        tail = TAIL.match(self.text, self.at)
        is_good = GOOD_STRING.fullmatch(token) is not None
        if not is_good and GOOD_STRING.fullmatch(new := without_json_escapes(token)):
            self._repaired(f"escapes of JSON: {shown(token)}")
            token, is_good = new, True
        if _NO_TAG.match(self.text, self.at):
            self._repaired("empty language tag")
            self.at += 1
            tail = None
        if tail is None:
            return (token, "literal") if is_good else self._bad("bad escape", token)
        self.at = tail.end()
        suffix = self._suffix(tail, token)
        if not suffix:
            return BAD_TERM
        return (
            (token + suffix, "literal") if is_good else self._bad("bad escape", token)
        )

    def _suffix(self, tail: re.Match[bytes], token: bytes) -> bytes:
        """Return the language or datatype of a literal; empty if bad."""
        if tail["tag"] is not None or tail["late"]:
            return self._language(tail)
        if not (tail["type"] or tail["name"]):
            self._bad("no datatype", token)
            return b""
        name = tail["name"]
        kind, role = self._name(name) if name else self._iri(tail["type"])
        if role == "bad":
            return b""
        if role != "iri" or self._is_tagless(kind):
            self._bad("bad datatype", kind)
            return b""
        return b"^^" + kind

    def _language(self, tail: re.Match[bytes]) -> bytes:
        text = (tail["late"] or tail["tag"]).decode("latin-1")
        tag, _, direction = text.partition("--")
        direction = direction.lower()
        new = terms.language_tag(tag)
        if not new or direction not in ("", "ltr", "rtl")[: 1 if self.is_n3 else 3]:
            self._bad("bad language tag", tail[0])
            return b""
        new += f"--{direction}" if direction else ""
        if new != text:
            self._repaired(f"language tag {text[:100]}")
        if tail["extra"] or tail["late"]:
            self._repaired("a language and a datatype")
        return f"@{new}".encode()

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
            label = word.decode("utf-8", "replace")
            if LABEL.fullmatch(label):
                return word, "blank"
            self._repaired(f"blank node label {shown(word)}")
            label = label[2:]
            return terms.blank(label).encode() if label else b"[]", "blank"
        if NUMBER.fullmatch(word):
            return word, "literal"
        if b":" not in word:
            return self._bad("not a term", word)
        return self._prefixed(word)

    def _namespace(self, prefix: str) -> str | None:
        found = self.prefixes.get(prefix, self.assumed.get(prefix))
        if found is None and (found := self.usual.get(prefix)):
            self._repaired(f"prefix {prefix} is not declared")
            self.assumed[prefix] = found
        return found

    def _prefixed(self, word: bytes) -> tuple[bytes, str]:
        prefix, _, local = word.decode("utf-8", "replace").partition(":")
        namespace = self._namespace(prefix)
        if namespace is None:
            return self._bad("undeclared prefix", word)
        if PATH.search(local):
            return (word, "iri") if self.is_n3 else self._bad("a path of N3", word)
        is_good = LOCAL.fullmatch(local) is not None
        if is_good and PREFIX.fullmatch(prefix) and prefix not in self.assumed:
            return word, "iri"
        if "\\" in LOCAL_ESCAPE.sub("", local):
            return self._bad("bad escape", word)
        try:
            new = terms.mended_iri(namespace + LOCAL_ESCAPE.sub(r"\1", local))
        except ValueError:
            return self._bad("bad name", word)
        if not is_good:
            self._repaired(f"characters in a name: {shown(word)}")
        return f"<{new}>".encode(), "iri"


def shown(text: bytes) -> str:
    """Return the begin of a text, up to the end of its line, for details."""
    return text[:100].decode("utf-8", "replace").strip().partition("\n")[0]
