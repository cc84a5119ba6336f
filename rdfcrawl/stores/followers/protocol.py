"""Specify what a follower is; see `docs/how-to/own-stores.md`.

* **Latest wins.** Of all versions of a document passed to `apply`, in any order and
  from any log, the store has the one with the highest `LogDocument.version`. It
  replaces the statements of the others in all graphs.
* **Others stay.** Statements of other documents are not removed.
* **Twice is once.** Documents behind the checkpoint of the last commit are repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rdfcrawl.core.errors import StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rdfcrawl.stores.identity import LogIdentity
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


class Follower(Protocol):
    """Store that follows logs; called by one thread of one process."""

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Prepare the store; return the checkpoint of the last commit for this log.

        Raises:
            ConfigError: the configuration of the store is wrong.
            StoreFault: the store cannot be reached, or is in use.
        """

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents by these versions, unless the store has later ones.

        Raises:
            DocumentRefused: one cannot be taken; the call is made again, at last
                without it.
            StoreForgot: the store is not as the last commit has left it.
            StoreFault: the store takes nothing now; the call is made again.
        """

    def commit(self, checkpoint: Checkpoint) -> None:
        """Return when all that was applied, and the checkpoint, survive a crash.

        Raises:
            StoreFault: they may not; the documents are applied again.
        """

    def close(self) -> None:
        """Close the store; what was not committed may be lost."""


@runtime_checkable
class ProvenanceFollower(Follower, Protocol):
    """A follower that takes the provenance, too."""

    def add_provenance(self, quads: Iterable[bytes]) -> None:
        """Add statements to those that are there.

        Raises:
            StoreFault: the store takes nothing now; the call is made again.
        """


@runtime_checkable
class GenerationFollower(Follower, Protocol):
    """A follower that knows which documents come from an earlier generation."""

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield graph and version of those whose last version is of one before `log`.

        The caller applies other versions of them meanwhile.
        """


@runtime_checkable
class SharedFollower(Follower, Protocol):
    """A follower whose store may be filled by several crawls, and which tells so."""

    def checkpoints(self) -> Iterable[Checkpoint]:
        """Return the checkpoints of all logs that the store was filled from.

        Raises:
            StoreFault: the store cannot be read.
        """


@runtime_checkable
class RenewedFollower(Follower, Protocol):
    """A follower whose readers see what was committed only once it is renewed."""

    def renew(self, *, at_once: bool) -> None:
        """Show readers all that was committed.

        Args:
            at_once: also if that is not due yet, as the log has come to its end.

        Raises:
            StoreFault: that cannot be done now; the call is made again.
        """


@runtime_checkable
class ListedFollower(Follower, Protocol):
    """A follower that can be read as a whole only, to be compared with a log."""

    def statements(self) -> Iterator[bytes]:
        """Yield all statements as N-Quads, in pieces of whole lines."""


@runtime_checkable
class SummarizingFollower(Follower, Protocol):
    """A follower that tells something of what has passed."""

    def summary(self) -> str:
        """Return a line; called after each batch, and before `close`."""


@runtime_checkable
class CountingFollower(Follower, Protocol):
    """A follower with statistics of its own."""

    def counts(self) -> Mapping[str, int]:
        """Return its statistics by name; called when `summary` is."""


@runtime_checkable
class ReadableFollower(Follower, Protocol):
    """A follower whose content can be compared with a log."""

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs; no other method is called meanwhile."""

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as lines of N-Quads; none if missing."""
