r"""Mend one statement of Turtle, TriG or N3 that the strict parser refused.

The result is text for the strict parser. A bad term becomes `BAD`, an IRI that no
document uses: the statements with it are left out, and the others stay. The tokens
before the first error stay unchanged, so the parser yields the same statements again.

After an error that leaves the position unclear (an open quotation mark, text that is
not RDF), the statement ends, and reading continues at the next line that looks like
the start of a statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import OWL
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.mended_brackets import (
    AFTER,
    CLOSERS,
    ITEM,
    OBJECT,
    SUBJECT,
    VERB,
    OpenBracket,
    OpenStatement,
)
from rdfcrawl.rdf.mended_terms import BAD, BAD_TERM, shown
from rdfcrawl.rdf.mended_tokens import (
    AFTER_FORMULA,
    BAD_IRI,
    BEGIN,
    BROKEN_STRING,
    CLEAR_STATEMENT,
    CURLY_STRING,
    DIRECTIVE,
    FRAGMENT,
    GRAPH_NAME,
    IRI_END,
    KEYWORDS,
    LINE,
    MARKUP,
    MORE_WORDS,
    NUMBER,
    PLAIN_SPACE,
    PREFIX,
    PREFIX_NAME,
    SCHEME,
    START,
    TOKEN,
    TWO_TERMS,
    UP_TO_DELIMITER,
    VERSION,
)

_MAX_CLOSED: Final = 64  # brackets closed by the end of one around them
_SAME_AS: Final = f"<{OWL}sameAs>".encode()

_NOUNS: Final = ("subject", "predicate", "object", "", "object")
_ROLES: Final = (
    {"iri", "blank"},
    {"iri", "verb"},
    *({"iri", "blank", "literal"}, {"iri", "blank"}, {"iri", "blank", "literal"}),
)
_KEYWORDS: Final = {
    VERB: (b"is", b"has", b"@is", b"@has", b"@a"),
    OBJECT: (b"of", b"@of"),
}


class MendedStatement(NamedTuple):
    """A statement or directive as strict text, or the begin or end of a graph.

    Attributes:
        text: complete, without the braces of a graph.
        end: of the source read.
        graph: label of a graph that begins; `b"}"` at its end; else None.
    """

    text: bytes
    end: int
    graph: bytes | None


@dataclass(eq=False)
class StatementMender(OpenStatement):
    """Mender of the statement that begins at an offset of the text.

    Attributes:
        undeclared: prefix without a readable IRI from here on; `@base` for the base.
        declared: prefix that strict text cannot declare, and its IRI.
        has_graphs: a fourth term is no error.
        is_outside: a directive or quad, which belongs to no open graph.
    """

    has_graphs: bool = field(default=False, kw_only=True)
    is_outside: bool = field(default=False, init=False)
    undeclared: str | None = field(default=None, init=False)
    declared: tuple[str, str] | None = field(default=None, init=False)
    _graph: bytes | None = field(default=None, init=False)
    _has_break: bool = field(default=False, init=False)  # before the token
    _end_of_word: int = field(default=0, init=False)

    def mend(self) -> MendedStatement:
        """Return the statement, once."""
        size = len(self.text)
        while not self._is_done:
            if self.at >= size:
                self._end_of_text()
            elif token := TOKEN.match(self.text, self.at):
                begin, self.at = self.at, token.end()
                self._take(token.lastgroup or "", token[0], begin)
            else:
                self._take_unclear()
        return MendedStatement(b"".join(self._out), self.at, self._graph)

    def _end_of_text(self) -> None:
        self.is_cut = bool(self._out)
        end = max(self._end_of_word, self._end_of_term)
        is_term = end == len(self.text) - 1 and self.text[end - 1 : end] != b">"
        if self.is_cut and is_term:
            self._out[-1] = BAD  # it may be truncated
        self._end()

    def _take(self, kind: str, token: bytes, begin: int) -> None:
        if kind == "space":
            self._has_break |= b"\n" in token or b"\r" in token
            if PLAIN_SPACE.fullmatch(token) is None:
                self._repaired("characters between tokens")
            return
        if kind == "mark":
            self._take_mark(token)
        elif kind == "open":
            self._take_open(token, begin)
        elif kind == "close":
            self._take_close(token, begin)
        elif kind == "word":
            self._end_of_word = self.at
            self._take_word(token, begin)
        elif kind == "string":
            self._take_term(*self._literal(self._with_quotes(token)), begin)
        elif self._is_at_begin and MARKUP.match(self.text, begin):
            self._cut(begin, "markup")
        else:
            self._take_term(*self._iri(token), begin)
        self._has_break = False

    # Terms

    def _take_term(self, text: bytes, role: str, begin: int) -> None:
        opened = self._stack[-1]
        if self._names_reifier and role in _ROLES[AFTER]:
            self._out.append(text + b" ")
            self._names_reifier = False
            return
        if self._begins_statement(opened, begin):
            return
        if opened.state == AFTER and not self._makes_room(begin, role, text):
            return
        if role not in _ROLES[opened.state] and text != BAD:
            is_object = self.text[(at := self._next()) : at + 1] in b";,."
            if opened.state == VERB and is_object and not opened.n_verbs:
                self._spoil(begin, is_glued=False)  # it is a predicate
            text, _ = self._bad(f"not a {_NOUNS[opened.state]}", text)
        self._out.append(text + b" ")
        self._end_of_term = self.at
        self._advance()

    def _begins_statement(self, opened: OpenBracket, begin: int) -> bool:
        """End the statement before a term that clearly begins the next one."""
        is_possible = self._has_break and len(self._stack) == 1 and self._out
        if (
            not is_possible
            or opened.state not in (VERB, OBJECT)
            or not CLEAR_STATEMENT.match(self.text, begin)
        ):
            return False
        self._repaired("no dot before a statement")
        self.at = begin
        self._end()
        return True

    def _makes_room(self, begin: int, role: str, text: bytes = b"") -> bool:
        """Return whether a term may follow an object, after a mended delimiter."""
        opened = self._stack[-1]
        is_outside = len(self._stack) == 1
        if is_outside and self._has_break and self._begins_next(begin):
            self._end_before(begin)
            return False
        if opened.closer in (b">>", b")>>"):
            self.skipped.append("text in a triple term")
            return False
        if self._has_break and TWO_TERMS.match(self.text, begin):
            self._repaired("a missing semicolon")
            self._out.append(b"; ")
            opened.state = VERB
            return True
        graph = GRAPH_NAME.match(self.text, begin)
        if graph and is_outside and opened.n_verbs == 1 and not self.is_in_graph:
            self.at = graph.end()
            if not self.has_graphs:
                self._repaired("a fourth term, read as the graph")
            self._out[:0] = text, b" { "
            self._out.append(b"}\n")
            self.is_outside = self._is_done = True
            return False
        if text != BAD and self._out[-1] == text + b" ":
            self._repaired(f"a term twice: {shown(text)}")
            return False
        self._bad("no delimiter before it", self.text[begin : self.at])
        # An IRI before a literal is a predicate.
        self._spoil(begin, is_glued=role != "literal" or self._ends_literal())
        self._out.append(b"; " + BAD + b" ")
        opened.state = OBJECT
        return True

    def _logic(self, what: str) -> tuple[bytes, str]:
        """Return a term whose statements are left out, since they are no RDF."""
        self.log.note(Reason.N3_FORMULA, what)
        return BAD_TERM

    def _take_n3(self, word: bytes, begin: int) -> bool:
        """Read a variable or keyword of N3; return whether it is one."""
        state = self._stack[-1].state
        if word.startswith(b"?"):
            self._take_term(*self._logic(f"variable {shown(word)}"), begin)
        elif word == b"=" and self.text.startswith(b">", self.at):
            self.at += 1
            self._take_term(*self._logic("an implication"), begin)
        elif word in _KEYWORDS.get(state, ()):
            if word.startswith(b"@"):
                self._repaired(f"{word.decode()} of old N3")
            self._out.append(word.lstrip(b"@") + b" ")
            if word.endswith(b"a"):
                self._advance()
        else:
            return False
        return True

    def _take_word(self, word: bytes, begin: int) -> None:
        if self.is_n3 and self._take_n3(word, begin):
            return
        state, is_outside = self._stack[-1].state, len(self._stack) == 1
        if curly := CURLY_STRING.match(self.text, begin):
            self._take_curly(curly, begin)
            return
        lower = word.lower()
        if lower in KEYWORDS and self._is_directive(begin):
            return
        if is_outside and lower == b"graph" and self._is_keyword_of_graph(begin):
            return
        is_no_term = b":" not in word and not NUMBER.fullmatch(word)
        if is_outside and state == SUBJECT and is_no_term:
            self._cut(begin, f"no statement: {shown(word)}")
            return
        if state == VERB and self._is_verb(word, begin):
            return
        if state == SUBJECT and (fragment := FRAGMENT.match(self.text, self.at)):
            self.at = fragment.end()
            word += fragment[0]
        new = MORE_WORDS.get(word)
        if new and state in (OBJECT, ITEM):
            self._repaired(f"{word.decode()} as a Boolean")
            word = new
        self._take_term(*self._name(word), begin)

    def _take_curly(self, found: re.Match[bytes], begin: int) -> None:
        self.at = found.end()
        self._repaired(f"quotation marks: {shown(found[0])}")
        self._take_term(*self._literal(b'"%b"' % found["text"]), begin)

    def _is_keyword_of_graph(self, begin: int) -> bool:
        """Read `GRAPH` at the beginning, or end the statement before it."""
        state = self._stack[0].state
        if state == AFTER and BEGIN.match(self.text, begin):
            self._end_before(begin)
            return True
        return state == SUBJECT

    def _is_verb(self, word: bytes, begin: int) -> bool:
        """Read `a` or `=`, or skip text in place of a predicate."""
        is_first = len(self._stack) == 1 and not self._stack[0].n_verbs
        if word == b"=":
            if is_first and self.text[(at := self._next()) : at + 1] == b"{":
                self._repaired("= before a graph")
                return True
            if not self.is_n3:
                self._repaired("= of N3")
            self._take_term(_SAME_AS, "iri", begin)
        elif word in (b"a", b"A"):
            if word == b"A":
                self._repaired("A as predicate")
            self._take_term(b"a", "verb", begin)
        elif is_first and b":" not in word and self._out == [BAD + b" "]:
            self._out.clear()
            self.bad.clear()
            self._stack[0].state = SUBJECT
            self._cut(begin, f"no statement: {shown(self.text[self._begin : begin])}")
        else:
            return False
        return True

    def _is_directive(self, begin: int) -> bool:
        """Read a directive, or end the statement before one."""
        found = DIRECTIVE.match(self.text, begin)
        version = VERSION.match(self.text, begin)
        if not self._is_at_begin:
            if not (found or version) and self.text[begin : begin + 1] != b"@":
                return False
            self._end_before(begin)
            return True
        if version:
            self._repaired("the dot of a directive")
            self._end_directive(version.end())
            return True
        name = PREFIX_NAME.match(self.text, begin)
        iri = b""
        if found and self._may_be_iri(b"<" + found["iri"]):
            iri = terms.mended_term(found["iri"], self.log)
        if found is None or not iri:
            self.undeclared = name[1].decode("utf-8", "replace") if name else "@base"
            why = f"bad directive: {shown(self.text[begin : begin + 80])}"
            if found:
                self.skipped.append(why)
                self._end_directive(found.end())
            else:
                self._cut(begin, why)
            return True
        self._declare(found, iri, has_colon=name is not None)
        self._end_directive(found.end())
        return True

    def _end_directive(self, end: int) -> None:
        self.at = end
        self.is_outside = self._is_done = True

    def _declare(self, found: re.Match[bytes], iri: bytes, *, has_colon: bool) -> None:
        keyword = found["keyword"].lower()
        if bool(found["at"]) is not bool(found["dot"]) or found["dot"] == b";":
            self._repaired("the dot of a directive")
        elif found["at"] and found["keyword"] != keyword:
            self._repaired(f"@{found['keyword'].decode()}")
        elif keyword == b"prefix" and not has_colon:
            self._repaired("a directive without colon")
        prefix = found["name"].decode("utf-8", "replace")
        if keyword == b"base":
            self._out.append(b"@base %s .\n" % iri)
        elif PREFIX.fullmatch(prefix):
            self._out.append(b"@prefix %s: %s .\n" % (found["name"], iri))
        elif SCHEME.match(iri) and prefix != "_":
            self._repaired(f"prefix {prefix}")
            self.declared = prefix, iri[1:-1].decode()
        else:
            self.undeclared = prefix
            self.skipped.append(f"bad prefix: {prefix}")

    # Punctuation

    def _take_mark(self, mark: bytes) -> None:
        if mark == b"~":
            if self._stack[-1].state == AFTER:
                self._out.append(b"~ ")
                self._names_reifier = True
            return
        self._names_reifier = False
        if mark == b".":
            self._take_dot()
            return
        self._leave_lists(mark)
        opened = self._stack[-1]
        if opened.state == AFTER:
            self._out.append(mark + b" ")
            opened.state = VERB if mark == b";" else OBJECT
        elif opened.state == OBJECT and mark == b";":
            self._out.append(self._bad("no object")[0] + b" ; ")
            opened.state = VERB
        elif self._is_at_begin and not BEGIN.match(self.text, self._next()):
            n_terms = 1 if mark == b";" else 2
            self._out += n_terms * [self._bad("no subject")[0] + b" "]
            opened.state = VERB if mark == b";" else OBJECT
        elif mark == b"," and opened.state in (VERB, OBJECT) and self._joins_terms():
            self._out[-1] = self._bad(f"several {_NOUNS[opened.state - 1]}s")[0] + b" "
        elif not (opened.state == VERB and opened.n_verbs and mark == b";"):
            self._repaired(f"a superfluous {mark.decode()}")

    def _take_open(self, bracket: bytes, begin: int) -> None:
        opened, is_outside = self._stack[-1], len(self._stack) == 1
        if bracket == b"{":
            (self._take_formula if self.is_n3 else self._open_graph)(begin)
            return
        if bracket == b"{|":
            if opened.state != AFTER:
                self._repaired("a superfluous {|")
                return
        elif opened.state == AFTER and not self._makes_room(begin, ""):
            return
        elif opened.state == VERB:
            self._spoil(begin)
            self._out.append(self._bad("not a predicate", bracket)[0] + b" ")
            self._advance()
        self._has_content &= not is_outside
        self._out.append(bracket + b" ")
        state = {b"(": ITEM, b"[": VERB, b"{|": VERB}.get(bracket, SUBJECT)
        self._stack.append(OpenBracket(CLOSERS[bracket], state))

    def _open_graph(self, begin: int) -> None:
        opened = self._stack[0]
        is_label = opened.state == VERB and not opened.n_verbs and not self._has_content
        if len(self._stack) == 1 and (opened.state == SUBJECT or is_label):
            end = self._end_of_braces(begin)
            is_formula = end > 0 and AFTER_FORMULA.match(self.text, end)
            if is_label or not (self.is_in_graph or is_formula):
                if self.is_in_graph:
                    self._repaired("an open graph")
                self._graph = b"".join(self._out).strip()
                if self._graph == BAD:
                    self.bad.clear()
                self._out.clear()
                self._is_done = True
                return
        self._take_formula(begin)

    def _take_formula(self, begin: int) -> None:
        end = self._end_of_braces(begin)
        if end < 0:
            self._cut(begin, "an open formula")
            return
        self.at = end
        text = self.text[begin:end]
        new = self._logic("a formula") if self.is_n3 else self._bad("a formula", text)
        self._take_term(*new, begin)

    def _take_close(self, bracket: bytes, begin: int) -> None:
        closers = [opened.closer for opened in self._stack[-_MAX_CLOSED:]]
        if bracket == b")>>" and bracket not in closers:
            bracket, self.at = b")", begin + 1
        if bracket in closers:
            for _ in range(closers[::-1].index(bracket)):
                self._repaired("an open bracket")
                self._close()
            self._close()
        elif bracket != b"}" or not self.is_in_graph:
            self._repaired(f"a superfluous {bracket.decode()}")
        elif self._is_at_begin:
            self._graph, self._is_done = bracket, True
        else:
            self.at = begin
            self._end()

    # Unclear text

    def _take_unclear(self) -> None:
        """Read text that is no token: an open string or IRI, or a character."""
        begin, text = self.at, self.text
        first = text[begin : begin + 1]
        if bad := BAD_IRI.match(text, begin):
            self.at = bad.end()
            self._take_term(*self._bad("not an IRI", bad[0]), begin)
        elif self._is_at_begin:
            self._cut(begin, f"no statement: {shown(text[begin : begin + 80])}")
        elif text[begin : begin + 3] in (b'"""', b"'''"):
            self._cut(begin, "an open string", is_open=True)
        elif first not in b"\"'<":
            end = UP_TO_DELIMITER.match(text, begin).end()  # type: ignore[union-attr]
            self.at = max(end, begin + 1)
            self._take_term(*self._bad("not a term", text[begin : self.at]), begin)
        elif first != b"<" and (broken := BROKEN_STRING.match(text, begin)):
            self.at = broken.end()
            if START.search(broken["text"]):
                self._take_term(*self._bad("a string with line breaks", first), begin)
                return
            self._repaired("line breaks in a short string")
            inside = broken["text"].replace(b"\r", b"\\r").replace(b"\n", b"\\n")
            self._take_term(*self._literal(first + inside + first), begin)
        else:
            self._take_open_token(begin)
        self._has_break = False

    def _take_open_token(self, begin: int) -> None:
        """Skip the rest of a line without the mark that ends it, or an open IRI."""
        found = LINE.match(self.text, begin)
        line = found[0].rstrip(b" \t") if found else b""
        is_iri = line.startswith(b"<")
        if is_iri and (open_iri := IRI_END.match(self.text, begin)):
            line = open_iri[0]
        elif line.endswith((b";", b",", b".")):
            line = line[:-1].rstrip(b" \t")
        else:
            why = f"an open string or IRI: {shown(line)}"
            self._cut(begin, why, is_open=True)
            return
        self.at = begin + len(line)
        self._take_term(*self._bad("an open string or IRI", line), begin)
