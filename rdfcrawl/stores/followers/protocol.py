"""The base class of followers; see `docs/how-to/own-stores.md`.

* **Latest wins.** Of all versions of a document passed to `apply`, in any order and
  from any log, the store has the one with the highest `LogDocument.version`. It
  replaces the statements of the others in all graphs.
* **Others stay.** Statements of other documents are not removed.
* **Twice is once.** Documents behind the checkpoint of the last commit are repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rdfcrawl.core.errors import StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument


class DocumentRefused(StoreFault):
    """A store refuses one document, but not the others.

    Attributes:
        graph: IRI of the document.
        others: further refused documents.
    """

    def __init__(
        self, graph: str, detail: str, others: Iterable[DocumentRefused] = ()
    ) -> None:
        super().__init__(f"{graph}: {detail}")
        self.graph, self.detail, self.others = graph, detail, tuple(others)


class StoreForgot(StoreFault):
    """A store is not as the last commit left it; the follower is reopened."""


class Follower(ABC):
    """A store that follows logs; one thread of one process calls it.

    A subclass defines `open`, `apply` and `commit`; all other methods do nothing.

    Attributes:
        is_store: the setting `SAME_STATEMENTS_ONCE` applies; without it, each document
            comes with all of its statements.
    """

    is_store: ClassVar[bool] = True

    @abstractmethod
    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Prepare the store; return the checkpoint of the last commit for this log.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be reached, or is in use.
        """

    @abstractmethod
    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents by these versions, unless the store has later ones.

        Raises:
            DocumentRefused: one cannot be taken; the call is made again, at last
                without it.
            StoreForgot: the store is not as the last commit has left it.
            StoreFault: the store takes nothing now; the call is made again.
        """

    @abstractmethod
    def commit(self, checkpoint: Checkpoint) -> None:
        """Return when all that was applied, and the checkpoint, survive a crash.

        Raises:
            StoreFault: they may not; the documents are applied again.
        """

    def close(self) -> None:  # noqa: B027
        """Close the store; what was not committed may be lost."""

    @property
    def takes_provenance(self) -> bool:
        """Whether the class defines `add_provenance`; else provenance is not read."""
        return type(self).add_provenance is not Follower.add_provenance

    def add_provenance(self, quads: Iterable[bytes]) -> None:  # noqa: B027
        """Add statements about the crawl to those that are there.

        Raises:
            StoreFault: the store takes nothing now; the call is made again.
        """

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]] | None:
        """Yield graph and version of documents whose last version is older than `log`.

        That is, of an earlier generation. The caller applies other versions of them
        meanwhile. None: the store does not know, and keeps them.
        """
        del log
        return None

    def checkpoints(self) -> Iterable[Checkpoint]:
        """Return the checkpoints of all logs that the store was filled from.

        Raises:
            StoreFault: the store cannot be read.
        """
        return ()

    def renew(self, *, at_once: bool) -> None:  # noqa: B027
        """Show readers all that was committed, if they do not see each commit.

        Args:
            at_once: also if that is not due yet, as the log has come to its end.

        Raises:
            StoreFault: that cannot be done now; the call is made again.
        """

    def graphs(self) -> Iterator[str] | None:
        """Yield the names of all graphs; no other method is called meanwhile.

        None: the store cannot be read by graph.
        """
        return None

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as lines of N-Quads; none if missing."""
        raise NotImplementedError(graph)

    def statements(self) -> Iterator[bytes] | None:
        """Yield all statements as N-Quads, in pieces of complete lines.

        For stores that cannot be read by graph. None: it cannot be read at all.
        """
        return None

    def held_statements(self, graph: str, quads: bytes) -> bytes:
        """Return statements of a document as N-Quads, in the form the store holds them.

        For stores that leave statements out or change their graphs, so that `store
        verify` does not expect more.

        Args:
            graph: of the document.
            quads: complete lines.
        """
        del graph
        return quads

    def summary(self) -> str:
        """Return a line for the operator; called after each batch, and at the end."""
        return ""

    def counts(self) -> Mapping[str, int]:
        """Return statistics by name; called when `summary` is."""
        return {}
