"""Repositories of OAI-PMH, and the statements of each record."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rdfcrawl.dataweb.messages import NodeResponse
from tests.injector.files import FileNode, SiteFile, Triples
from tests.support.oai_repositories import DC, OaiRepository, RepositoryItem

if TYPE_CHECKING:
    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan


class RepositoryNode(FileNode):
    """A repository whose deleted records have marks.

    In each version two records are changed, one is new and one is deleted.
    """

    deleted: ClassVar[str] = "persistent"

    def __init__(self, plan: NodePlan, version: int) -> None:
        self._repository = OaiRepository(
            deleted=self.deleted,
            now=f"2025-09-0{version}T00:00:00Z",
            origin=plan.origin,
        )
        self._repository.put(
            *(_item(f"{n}", 1) for n in range(6)),
            *(_item(name, version) for name in ("a", "z")),
            *(_item(f"p{n}", n) for n in range(1, version)),
            _item(f"p{version}", version),
        )
        for n in range(1, version):
            gone = RepositoryItem(f"p{n}", f"2025-09-0{n + 1}", is_deleted=True)
            self._repository.put(gone)
        files = {
            f"/{name}": SiteFile(b"", graphs=self._graphs(item))
            for name, item in self._repository.items.items()
            if not item.is_deleted
        }
        super().__init__(plan, files, version)

    def _graphs(self, item: RepositoryItem) -> dict[str, Triples]:
        triple = f"oai:e.example:{item.name}", f"{DC}title", f'"{item.title}"@en'
        return {self._repository.record_of(item.name): frozenset({triple})}

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Return a page of the list, or another response of the protocol."""
        status, headers, body = self._repository.respond(request.target)
        return NodeResponse(status, body, content_type=headers.get("Content-Type", ""))


class FullRepositoryNode(RepositoryNode):
    """A repository that forgets deleted records."""

    deleted = "no"


def _item(name: str, version: int) -> RepositoryItem:
    return RepositoryItem(name, f"2025-09-0{version}", f"{name} in {version}")
