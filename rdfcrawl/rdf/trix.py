"""TriX to statements, as a stream.

Source: Carroll and Stickler, "RDF Triples in XML", HP Laboratories 2004-56, and its
DTD: `TriX (graph*)`, `graph (uri*, triple*)`, `triple ((id|uri|plainLiteral|
typedLiteral), uri, (id|uri|plainLiteral|typedLiteral))`. As in Jena and RDF4J, the
root may be written `trix` and a graph be named by an `id`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Final
from xml.parsers import expat

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.encoding import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.rdf.environment import Environment
    from rdfcrawl.rdf.faultlog import FaultLog
    from rdfcrawl.rdf.limits import ParseLimits

NAMESPACES: Final = frozenset({"", "http://www.w3.org/2004/03/trix/trix-1/"})
_SEPARATOR: Final = " "  # between namespace and name; stands in neither
_LANG: Final = "http://www.w3.org/XML/1998/namespace lang"
_N_TERMS: Final = 3
_MAX_GRAPH_NAMES: Final = 8  # of one graph: each of them repeats its statements
# Of one tag or declaration, which the XML parser keeps until it is complete.
_MAX_TOKEN_BYTES: Final = 4 * 2**20

# What an element may stand in. Terms hold text alone, so that nothing is nested
# deeper than four levels.
_PARENTS = {
    "graph": frozenset({"TriX"}),
    "triple": frozenset({"graph"}),
    "uri": frozenset({"graph", "triple"}),
    "id": frozenset({"graph", "triple"}),
    "plainLiteral": frozenset({"triple"}),
    "typedLiteral": frozenset({"triple"}),
}
_LITERALS = frozenset({"plainLiteral", "typedLiteral"})
_TERMS = _LITERALS | {"uri", "id"}


def read_trix(  # one signature for all readers
    source: bytes | BinaryIO,
    *,
    base: str,  # noqa: ARG001
    environment: Environment,  # noqa: ARG001
    limits: ParseLimits,
    log: FaultLog,
) -> Iterator[str]:
    """Yield the statements of a TriX document, unchecked, in its order.

    IRIs are taken as they are: the format has no relative ones. A graph with several
    names gives its statements once for each. A triple that is complete but no RDF
    (a literal as subject) is noted as `SYNTAX` and left out; where the document is no
    TriX any more it ends.

    Args:
        source: UTF-8 without byte order mark, with entities that are screened;
            read as a stream in bounded memory.
        base: not used.
        environment: not used.
        limits: `literal_bytes` and `n_errors` count.
        log: takes the faults.

    Raises:
        SourceFault: `SYNTAX`: not well-formed, an element or text that TriX does
            not have there; `LITERAL_TOO_LONG`; `ENTITY_EXPANSION`.
    """
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    reader = _TrixReader(limits, log)
    while not reader.is_complete:
        try:
            reader.feed(file.read(BLOCK_BYTES))
        except expat.ExpatError as error:
            yield from reader.take()
            raise SourceFault(Reason.SYNTAX, f"XML: {error}") from error
        except SourceFault:
            yield from reader.take()
            raise
        yield from reader.take()


class _TrixReader:
    """Gathers statements while XML is fed to it.

    Attributes:
        is_complete: the end of the document was fed.
    """

    def __init__(self, limits: ParseLimits, log: FaultLog) -> None:
        self._limits, self._log = limits, log
        self._n_fed = 0
        self._ready: list[str] = []
        self._open: list[str] = []  # elements, from the root on
        self._languages: list[str] = [""]  # in force in each; XML 1.0 section 2.12
        self._graphs: list[str] = []
        self._has_triples = False  # the names of the graph have ended
        self._terms: list[str] = []
        self._kinds: list[str] = []
        self._text: list[str] = []
        self._n_chars = 0
        self._datatype = ""
        self.is_complete = False
        parser = self._parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def feed(self, block: bytes) -> None:
        """Read the next block; an empty one is the end.

        Raises:
            SourceFault: the document is no TriX.
            ExpatError: the document is not well-formed.
        """
        self._parser.Parse(block, not block)
        self._n_fed += len(block)
        if self._n_fed - self._parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "a tag or declaration")
        self.is_complete = not block

    def take(self) -> list[str]:
        """Return the statements since the last time."""
        ready, self._ready = self._ready, []
        return ready

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(_SEPARATOR)
        if namespace not in NAMESPACES:
            raise self._fault(f"element {local} of another namespace")
        if not self._open:
            if local.lower() != "trix":
                raise self._fault(f"the root is {local}")
            local = "TriX"
        elif self._open[-1] not in _PARENTS.get(local, ()):
            raise self._fault(f"{local} inside of {self._open[-1]}")
        self._open.append(local)
        self._languages.append(attributes.get(_LANG, self._languages[-1]))
        self._begin(local, attributes)

    def _begin(self, local: str, attributes: dict[str, str]) -> None:
        if local == "graph":
            self._graphs, self._has_triples = [], False
        elif local == "triple":
            self._has_triples = True
            self._terms, self._kinds = [], []
        elif self._open[-2:-1] == ["graph"] and self._has_triples:
            raise self._fault("a graph's name after its triples")
        elif local == "typedLiteral":
            self._datatype = attributes.get("datatype", "").strip()
            if not self._datatype:
                raise self._fault("a typedLiteral without datatype")
        self._text, self._n_chars = [], 0

    def _characters(self, text: str) -> None:
        if self._open[-1] not in _TERMS:
            if not text.isspace():
                raise self._fault(f"text inside of {self._open[-1]}")
            return
        self._n_chars += len(text)
        if self._n_chars > self._limits.literal_bytes:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "the text of a term")
        self._text.append(text)

    def _end(self, _: str) -> None:
        local = self._open.pop()
        language = self._languages.pop()
        if local in _TERMS:
            term = self._term(local, "".join(self._text), language)
            if self._open[-1] == "graph":
                self._name_graph(term)
            else:
                self._add_term(term, local)
        elif local == "triple":
            self._end_triple()

    def _term(self, local: str, text: str, language: str) -> str:
        match local:
            case "uri":
                return terms.iri(text.strip())
            case "id":
                return terms.blank(text.strip())
            case "plainLiteral":
                return terms.literal(text, language=language)
        return terms.literal(text, datatype=self._datatype)

    def _name_graph(self, term: str) -> None:
        if len(self._graphs) >= _MAX_GRAPH_NAMES:
            raise self._fault(f"a graph has more than {_MAX_GRAPH_NAMES} names")
        self._graphs.append(term)

    def _add_term(self, term: str, local: str) -> None:
        if len(self._terms) >= _N_TERMS:
            raise self._fault("a triple of more than three terms")
        self._terms.append(term)
        self._kinds.append(local)

    def _end_triple(self) -> None:
        if len(self._terms) < _N_TERMS:
            raise self._fault("a triple of less than three terms")
        if self._kinds[0] in _LITERALS or self._kinds[1] != "uri":
            self._log.note(Reason.SYNTAX, f"{self._place()}: no RDF triple")
            if self._log.count(Reason.SYNTAX) >= self._limits.n_errors:
                raise self._fault("too many triples that are no RDF")
            return
        for graph in self._graphs or [""]:
            subject, predicate, obj = self._terms
            self._ready.append(terms.statement(subject, predicate, obj, graph))

    def _fault(self, what: str) -> SourceFault:
        return SourceFault(Reason.SYNTAX, f"{self._place()}: {what}")

    def _place(self) -> str:
        return f"line {self._parser.CurrentLineNumber}"
