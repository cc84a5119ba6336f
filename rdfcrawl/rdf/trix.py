"""Read TriX as a stream.

As in Jena and RDF4J, the root may be spelled `trix`, and an `id` may name a graph. As
in Jena, a typed literal may have elements, which are kept if the datatype is XML.

Source: Carroll and Stickler, "RDF Triples in XML", HP Laboratories 2004-56, and its
DTD: `TriX (graph*)`, `graph (uri*, triple*)`, `triple ((id|uri|plainLiteral|
typedLiteral), uri, (id|uri|plainLiteral|typedLiteral))`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final
from xml.parsers import expat

from rdfcrawl.core.errors import NotWellFormed, Reason, SourceFault
from rdfcrawl.core.namespaces import RDF, TRIX, XML
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.nesting import MAX_DEPTH
from rdfcrawl.rdf.text import BLOCK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits


_LONGEST_KEPT: Final = 1000  # characters of a name
SEPARATOR: Final = " "  # in expat's names, between namespace, name and prefix
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_IN_VALUE: Final = re.compile(r"[&<\"\t\n\r]")
_VALUE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;"}
    | {"\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


class XmlContent:
    """Writer of the content of an element from the events of a parser.

    Names are those of expat with `namespace_prefixes`: `name`, `namespace name` or
    `namespace name prefix`. `n_chars` is about the length so far.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._texts: list[str] = []
        self._open: list[tuple[str, tuple[str, ...]]] = []  # name, prefixes it declares
        # Declarations in scope at the current position, the innermost last.
        self._declared: defaultdict[str, list[str]] = defaultdict(list)
        self._has_elements = False
        self.n_chars = 0

    @property
    def depth(self) -> int:
        """Number of open elements."""
        return len(self._open)

    def value(self) -> str:
        """Return the lexical form: markup, or the text if there is no element."""
        return "".join(self._parts if self._has_elements else self._texts)

    def markup(self) -> str:
        """Return the content in exclusive canonical XML, with comments."""
        return "".join(self._parts)

    def text(self, text: str) -> None:
        """Write characters."""
        self._texts.append(text)
        if "&" in text or "<" in text or ">" in text or "\r" in text:
            text = text.translate(_TEXT)
        self._write(text)

    def comment(self, text: str) -> None:
        """Write a comment."""
        self._write(f"<!--{text}-->")

    def instruction(self, target: str, data: str) -> None:
        """Write a processing instruction."""
        self._write(f"<?{target} {data}?>" if data else f"<?{target}?>")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Write a start tag."""
        self._has_elements = True
        namespace, local, prefix = split_name(name)
        tag = _qualified(prefix, local)
        if not attributes and self._declared[prefix][-1:] == [namespace]:
            self._open.append((tag, ()))
            self._write(f"<{tag}>")
            return
        used = {prefix: namespace}
        rows: list[tuple[str, str, str, str]] = []
        for each, value in attributes.items():
            uri, attribute, its_prefix = split_name(each)
            if its_prefix:
                used[its_prefix] = uri
            rows.append((uri, attribute, _qualified(its_prefix, attribute), value))
        declared = self._declare(used)
        self._open.append((tag, tuple(declared)))
        pairs = [(_declaration(each), uri) for each, uri in sorted(declared.items())]
        pairs += [(full, value) for _, _, full, value in sorted(rows)]
        written = [f' {full}="{_of_value(value)}"' for full, value in pairs]
        self._write(f"<{tag}{''.join(written)}>")

    def end(self) -> None:
        """Write an end tag."""
        tag, declared = self._open.pop()
        for prefix in declared:
            self._declared[prefix].pop()
        self._write(f"</{tag}>")

    def _declare(self, used: dict[str, str]) -> dict[str, str]:
        """Return the namespaces of an element that its ancestors do not declare."""
        new: dict[str, str] = {}
        for prefix, namespace in used.items():
            if namespace == XML:
                continue
            around = self._declared[prefix]
            if (around[-1] if around else "") != namespace:
                new[prefix] = namespace
                around.append(namespace)
        return new

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self.n_chars += len(text)


def split_name(name: str) -> tuple[str, str, str]:
    """Return namespace, local name and prefix of an expat name."""
    return _split(name) if len(name) > _LONGEST_KEPT else _known_split(name)


def _split(name: str) -> tuple[str, str, str]:
    parts = name.split(SEPARATOR)
    if len(parts) == 1:
        return "", name, ""
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""


_known_split = lru_cache(maxsize=1024)(_split)


def _qualified(prefix: str, local: str) -> str:
    return f"{prefix}:{local}" if prefix else local


def _of_value(text: str) -> str:
    return text.translate(_VALUE) if _IN_VALUE.search(text) else text


def _declaration(prefix: str) -> str:
    return f"xmlns:{prefix}" if prefix else "xmlns"


NAMESPACES: Final = frozenset({"", TRIX})
_LANG: Final = SEPARATOR.join((XML, "lang", "xml"))
_XML_LITERAL: Final = RDF + "XMLLiteral"
_N_TERMS: Final = 3
_MAX_GRAPH_NAMES: Final = 8  # of one graph: each repeats the statements
# Of one tag or declaration: the XML parser buffers it.
_MAX_TOKEN_BYTES: Final = 4 * 2**20

# Parents of elements. Terms only contain text. Triples in triples are those of Jena.
_PARENTS = {
    "graph": frozenset({"TriX"}),
    "triple": frozenset({"graph", "triple"}),
    "uri": frozenset({"graph", "triple"}),
    "id": frozenset({"graph", "triple"}),
    "plainLiteral": frozenset({"triple"}),
    "typedLiteral": frozenset({"triple"}),
}
_LITERALS = frozenset({"plainLiteral", "typedLiteral"})
_TERMS = _LITERALS | {"uri", "id"}


def read_trix(
    file: BinaryIO, *, base: str, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a TriX document in UTF-8, unchecked, in order.

    Relative IRIs are resolved against `base`, as in Jena. The statements of a graph
    with several names are repeated for each. A triple that is not RDF (a literal as
    subject), one with a long term (`LITERAL_TOO_LONG`) and a misplaced element
    (`SYNTAX`) are logged and left out, as is misplaced text (`REPAIRED`). Reading ends
    where the XML is not well-formed.

    Raises:
        NotWellFormed: the XML is not.
        SourceFault: `SYNTAX`: not TriX, or too many faults (`n_errors`);
            `LITERAL_TOO_LONG`, for a tag; `ENTITY_EXPANSION`.
    """
    parser = expat.ParserCreate("utf-8", SEPARATOR)
    reader = TrixReader(base, limits=limits, log=log)
    reader.place = lambda: f"line {parser.CurrentLineNumber}: "
    parser.namespace_prefixes = True
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = lambda _: reader.end()
    parser.CharacterDataHandler = reader.characters
    parser.CommentHandler = reader.comment
    parser.ProcessingInstructionHandler = reader.instruction
    n_fed = 0
    while block := file.read(BLOCK_BYTES):
        yield from _statements(parser, reader, block)
        n_fed += len(block)
        if n_fed - parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "a tag or declaration")
    yield from _statements(parser, reader, b"")


def _statements(
    parser: expat.XMLParserType, reader: TrixReader, block: bytes
) -> Iterator[str]:
    """Parse the next block, an empty one at the end, and yield its statements."""
    try:
        parser.Parse(block, not block)
    except expat.ExpatError as error:
        yield from reader.take()
        raise NotWellFormed(Reason.SYNTAX, f"XML: {error}") from error
    except SourceFault:
        yield from reader.take()
        raise
    yield from reader.take()


class TrixReader:
    """Collector of statements from the events of a parser of XML.

    Names are as in `XmlContent`. `place` returns the position, for details of faults.
    """

    place: Callable[[], str]

    def __init__(self, base: str, *, limits: ParseLimits, log: FaultLog) -> None:
        self._base, self._limits, self._log = base, limits, log
        self._namespaces = NAMESPACES
        self._ready: list[str] = []
        self._open: list[str] = []  # elements, from the root
        self._languages: list[str] = [""]  # in force in each; XML 1.0 section 2.12
        self._graphs: list[str] = []
        self._has_triples = False  # no more graph names are expected
        self._is_late = False  # there was one, and the graph of triples is uncertain
        self._terms: list[str] = []
        self._kinds: list[str] = []
        self._around: list[tuple[list[str], list[str]]] = []  # of the outer triples
        self._content = XmlContent()
        self._n_skipped = 0  # open elements that are skipped
        self._in_triple = False
        self._is_bad = False  # the triple is left out
        self._datatype = ""

    def lacks_end(self, local: str) -> bool:
        """Return whether an open element should have ended before another one."""
        if self._n_skipped or local not in ("graph", "triple"):
            return False
        return self._open[-1:] == ["triple"] or self._open[-1:] == [local]

    def take(self) -> list[str]:
        """Return the statements that are complete since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element.

        Raises:
            SourceFault: see `read_trix`.
        """
        if self._n_skipped:
            self._n_skipped += 1
            return
        if self._is_xml():
            self._content.start(name, attributes)
            return
        namespace, local, _ = split_name(name)
        if not self._open:
            if local.lower() != "trix":
                raise self._fault(f"the root is {local}")
            if namespace not in self._namespaces:
                self._log.note(Reason.REPAIRED, f"the namespace {namespace} of TriX")
                self._namespaces |= {namespace}
            local = "TriX"
        elif namespace not in self._namespaces:
            self._skip(f"element {local} of another namespace")
            return
        elif self._open[-1] not in _PARENTS.get(local, ()):
            self._skip(f"{local} inside of {self._open[-1]}")
            return
        elif self._has_triples and self._open[-1] == "graph" and local != "triple":
            self._skip("a graph name after its triples")
            self._is_late = True
            return
        elif len(self._around) == MAX_DEPTH:
            self._skip("nested too deeply")
            return
        self._open.append(local)
        self._languages.append(attributes.get(_LANG, self._languages[-1]))
        self._begin(local, attributes)

    def _is_xml(self) -> bool:
        """Return whether elements are content of a term."""
        return self._open[-1:] == ["typedLiteral"] and self._datatype == _XML_LITERAL

    def _skip(self, what: str) -> None:
        """Skip the current element, and leave out the enclosing triple."""
        self._n_skipped = 1
        self.leave_out(what)

    def leave_out(self, what: str, reason: Reason = Reason.SYNTAX) -> None:
        """Leave out the open triple, and log this once."""
        if self._in_triple:
            if self._is_bad:
                return
            self._is_bad = True
        self._log.note(reason, f"{self.place()}{what}")
        if self._log.count(reason) >= self._limits.n_errors:
            raise self._fault("too many faults")

    def _begin(self, local: str, attributes: dict[str, str]) -> None:
        if local == "graph":
            self._graphs, self._has_triples, self._is_late = [], False, False
        elif local == "triple":
            self._has_triples = True
            if self._open[-2] == "triple":
                self._around.append((self._terms, self._kinds))
            else:
                self._in_triple, self._is_bad = True, False
            self._terms, self._kinds = [], []
        elif local == "typedLiteral":
            self._datatype = attributes.get("datatype", "").strip()
            if not self._datatype:
                self.leave_out("a typedLiteral without datatype")
        self._content = XmlContent()

    def characters(self, text: str) -> None:
        """Add text."""
        if self._n_skipped:
            return
        where = self._open[-1] if self._open else "no element"
        if where not in _TERMS:
            if not text.isspace():
                what = f"{self.place()}text inside of {where}"
                self._log.note(Reason.REPAIRED, what)
            return
        if self._has_room(text):
            self._content.text(text)

    def _has_room(self, text: str) -> bool:
        if self._content.n_chars + len(text) <= self._limits.literal_bytes:
            return True
        self.leave_out("the text of a term", Reason.LITERAL_TOO_LONG)
        return False

    def comment(self, text: str) -> None:
        """Add a comment."""
        if not self._n_skipped and self._is_xml() and self._has_room(text):
            self._content.comment(text)

    def instruction(self, target: str, data: str) -> None:
        """Add a processing instruction."""
        if not self._n_skipped and self._is_xml() and self._has_room(data):
            self._content.instruction(target, data)

    def end(self) -> None:
        """End the innermost element."""
        if self._n_skipped:
            self._n_skipped -= 1
            return
        if self._content.depth:
            self._content.end()
            return
        local = self._open.pop()
        language = self._languages.pop()
        if local in _TERMS:
            term = self._term(local, self._content.value(), language)
            if self._open[-1] != "graph":
                self._add_term(term, local)
            elif len(self._graphs) >= _MAX_GRAPH_NAMES:
                raise self._fault(f"a graph has more than {_MAX_GRAPH_NAMES} names")
            else:
                self._graphs.append(term)
        elif local == "triple":
            self._end_triple()

    def _term(self, local: str, text: str, language: str) -> str:
        match local:
            case "uri":
                return terms.iri(resolve(text.strip(), self._base))
            case "id":
                return terms.blank(text.strip())
            case "plainLiteral":
                return terms.literal(text, language=language)
        return terms.literal(text, datatype=self._datatype)

    def _add_term(self, term: str, local: str) -> None:
        if len(self._terms) < _N_TERMS:
            self._terms.append(term)
            self._kinds.append(local)
        else:
            self.leave_out("a triple of more than three terms")

    def _end_triple(self) -> None:
        if len(self._terms) < _N_TERMS:
            self.leave_out("a triple of less than three terms")
        elif self._kinds[0] not in ("uri", "id") or self._kinds[1] != "uri":
            self.leave_out("not an RDF triple")
        if self._around:
            term = f"<<( {' '.join(self._terms)} )>>"
            self._terms, self._kinds = self._around.pop()
            self._add_term(term, "triple")
            return
        if self._is_late:
            self.leave_out("a triple behind a late name of its graph")
        self._in_triple = False
        if self._is_bad:
            return
        for graph in self._graphs or [""]:
            subject, predicate, obj = self._terms
            self._ready.append(terms.statement(subject, predicate, obj, graph))

    def _fault(self, what: str) -> SourceFault:
        return SourceFault(Reason.SYNTAX, f"{self.place()}{what}")
