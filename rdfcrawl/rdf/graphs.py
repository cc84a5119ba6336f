"""Select the graph of each statement: no document may write to graphs of other sites.

Statements go to the graph named by the URL of their document; graph names in the
document are only kept if they have the same origin. `GraphRule` decides for all kinds
of sources.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.terms import iri_of_url
from rdfcrawl.uri.hosts import Origin, origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

Trust = Literal["same-origin", "named", "all"] | tuple[str, ...]

CRAWL_NAMES: Final = "urn:rdfcrawl:"  # reserved for the crawl, for example provenance

SERVICE: Final = "#service"  # fragment of `service_graph`
_MAX_KNOWN = 4096  # graph names cached

# Canonical N-Quads without a graph; literals contain no line feed.
_has_no_graph = re.compile(
    rb"(?:(?:<[^>]*+>|_:[^ ]++) <[^>]*+> "
    rb"(?:<[^>]*+>|_:[^ ]++"
    rb'|"(?>[^"\\]++|\\.)*+"(?:@[^ ]++|\^\^<[^>]*+>)?) \.\n)*+'
).fullmatch
# The same, each with a graph.
_all_have_graphs = re.compile(
    rb'(?:[^ \n]++ [^ \n]++ (?:[^ "\n]++|"(?>[^"\\\n]++|\\.)*+"[^ \n]*+)'
    rb" [^ \n]++ \.\n)*+"
).fullmatch

_SUBJECT = rb"(?:<[^ ]*>|_:[^ ]+)"
_OBJECT = (
    rb"(?:<[^ ]*>|_:[^ ]+|\"(?:[^\"\\\n]|\\.)*\"(?:@[^ ]+|\^\^<[^ ]*>)?|<<\(.*\)>>)"
)
# N-Quads 1.1 section 4: a statement with a graphLabel.
_NAMED = re.compile(
    rb"^(%b <[^ ]*> %b )%b \.$" % (_SUBJECT, _OBJECT, _SUBJECT), re.MULTILINE
)


def check_iri(url: str) -> str:
    """Return a URL as an absolute IRI, escaped if need be (`BAD_TERM` if still bad)."""
    iri = iri_of_url(url)
    if not iri:
        raise SourceFault(Reason.BAD_TERM, f"not an IRI: {url}")
    return iri


@lru_cache(maxsize=1024)  # a URL is often repeated in several statements
def graph_iri(url: str) -> str:
    """Return the IRI of the graph of the document at `url`, without `<>`.

    This is `url`, percent-encoded if necessary, or a hash if that is not an IRI.

    >>> graph_iri("http://example.org/a|b")
    'http://example.org/a%7Cb'
    """
    if iri := iri_of_url(url):
        return iri
    digest = blake2b(url.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"{CRAWL_NAMES}document:{digest}"


def service_graph(endpoint: str) -> str:
    """Return the name of the description that an endpoint gives of itself."""
    return f"{endpoint}{SERVICE}"


def is_crawls(name: str) -> bool:
    """Return whether a name is reserved for the crawl."""
    return name[: len(CRAWL_NAMES)].lower() == CRAWL_NAMES


class GraphRule:
    """Policy of the graphs that the response of a URL may write.

    `same-origin` admits graphs of the origin of the response; `named` all graphs except
    those of the crawl, for sources that the operator has named; `all` is for documents
    that are not crawled. Prefixes of graph names are admitted in addition.
    """

    def __init__(self, url: str, trust: Trust = "same-origin") -> None:
        self._url, self._trust = url, trust
        self._origin: Origin | None = None

    def admits(self, name: str) -> bool:
        """Return whether a graph of this name may be written."""
        if self._trust == "all":
            return True
        if is_crawls(name):
            return False
        if self._trust == "named":
            return True
        if isinstance(self._trust, tuple) and name.startswith(self._trust):
            return True
        if self._origin is None:
            self._origin = Origin.parse(self._url)
        return self._origin.is_of(name)


class GraphNames:
    """Assigns a graph to each statement of one document.

    Args:
        graph: of the document; None: the default graph.
        url: of the document.
        trust: see `GraphRule`.
        has_graphs: the format supports graph names.
        log: takes `FOREIGN_GRAPH` for statements moved out of foreign graphs.
    """

    def __init__(
        self,
        graph: str | None,
        *,
        url: str,
        trust: Trust,
        has_graphs: bool,
        log: FaultLog,
    ) -> None:
        self._tail = b" .\n" if graph is None else b" <%s> .\n" % graph.encode()
        self._url, self._trust, self._log = url, trust, log
        self._rule: GraphRule | None = None  # most documents name no graph
        self._has_graphs = has_graphs and not (graph is None and trust == "all")
        self._known: dict[bytes, bytes] = {}
        self._root = b""  # with the rule

    def place(
        self, lines: bytes, *, all_named: bool = False, none_named: bool = False
    ) -> tuple[bytes, int, bool]:
        """Return canonical N-Quads, each in its graph, their number, and whose graph.

        With `all_named`, each of them is known to name a graph, if any may; with
        `none_named`, none does. The third value is true if they name none, and so are
        in the graph of the document.
        """
        if not self._has_graphs and self._tail == b" .\n":
            return lines, lines.count(b"\n"), False
        # Usually, documents name no graph, even in formats with graphs.
        none_named = none_named or not self._has_graphs
        if none_named or (not all_named and _has_no_graph(lines)):
            # Lines contain no line feed: all matches are line ends.
            statements = lines.split(b" .\n")
            return self._tail.join(statements), len(statements) - 1, True
        if all_named or _all_have_graphs(lines):
            return *self._place_named(lines), False
        placed = list(map(self._place_line, lines.splitlines(keepends=True)))
        return b"".join(placed), len(placed), False

    def _place_named(self, lines: bytes) -> tuple[bytes, int]:
        """Return `place` of statements that all name a graph."""
        statements = lines.split(b" .\n")
        statements.pop()  # after the last line
        n = len(statements)
        if self._trust == "all":
            return lines, n
        names = {each.rpartition(b" ")[2] for each in statements}
        tails = {name: self._tail_of(name) for name in names}
        foreign = {name for name, tail in tails.items() if tail is self._tail}
        if not foreign:
            return lines, n
        parts = [each.rpartition(b" ") for each in statements]
        moved = [name for *_, name in parts if name in foreign]
        self._note_foreign(moved[0], len(moved))
        if len(moved) == n:
            return self._tail.join([*(begin for begin, *_ in parts), b""]), n
        return b"".join([begin + tails[name] for begin, _, name in parts]), n

    def _note_foreign(self, name: bytes, n: int = 1) -> None:
        detail = f"statements in graph {name.decode()}"
        self._log.note(Reason.FOREIGN_GRAPH, detail, n)

    def _place_line(self, line: bytes) -> bytes:
        statement, _, last = line[:-3].rpartition(b" ")
        # The last term is the graph if there are four. A literal with spaces ends with
        # a quote, or contains one in its last word.
        if last[:1] not in b"<_" or b'"' in last or statement.count(b" ") < 2:
            return line[:-3] + self._tail
        if self._trust == "all":
            return line
        tail = self._tail_of(last)
        if tail is self._tail:
            self._note_foreign(last)
        return statement + tail

    def _tail_of(self, name: bytes) -> bytes:
        """Return the end of lines in a named graph."""
        if (tail := self._known.get(name)) is not None:
            return tail
        if self._rule is None:
            self._rule = GraphRule(self._url, self._trust)
            self._root = _root_of(self._url)
        is_own = name.startswith(self._root) or (
            name.startswith(b"<") and self._rule.admits(name[1:-1].decode())
        )
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        tail = self._known[name] = b" %s .\n" % name if is_own else self._tail
        return tail


def _root_of(url: str) -> bytes:
    """Return the beginning of IRIs of the origin of a URL, as terms.

    It is a line feed, which no term has, for a URL without a plain origin.
    """
    root = origin_of(url)
    is_plain = url.startswith(("http://", "https://")) and "@" not in root
    return f"<{root}/".encode() if is_plain and Origin.parse(url).host else b"\n"


def without_graph_names(block: bytes) -> tuple[bytes, int]:
    r"""Return the statements as canonical N-Triples, and the number with a graph name.

    `block` has complete lines of canonical N-Quads.

    >>> without_graph_names(b'<urn:s> <urn:p> "a <urn:b> ." <urn:g> .\n')
    (b'<urn:s> <urn:p> "a <urn:b> ." .\n', 1)
    """
    return _NAMED.subn(rb"\1.", block)
