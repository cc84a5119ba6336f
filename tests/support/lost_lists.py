"""Sites whose list turns into a page without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tests.support.planted_sites import (
    PAGE,
    PlantedFeed,
    PlantedPages,
    PlantedSite,
    PlantedTree,
    PlantedVoid,
)

if TYPE_CHECKING:
    from tests.support.planted_sites import Found


class _LostList(PlantedSite):
    """A site of one document, whose list turns into a page without data.

    Attributes:
        lost: target of the list.
        is_document: the list has statements, too.
    """

    names: ClassVar[tuple[str, ...]] = ("same",)
    others: ClassVar = {"same": "unknown"}
    lost: ClassVar[str]
    is_document: ClassVar[bool] = False

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        page = {self.lost: ("text/html", PAGE)} if self.is_later else {}
        return super().lists() | page

    def expected(self) -> Found:
        """See `PlantedSite`."""
        found = {(self.url("same"), "unknown")}
        return found | (
            {(self.at(self.lost), "unknown")} if self.is_document else set()
        )


class LostSitemap(_LostList, PlantedPages):
    """A sitemap of a page."""

    lost = "/sitemap.xml"


class LostRobots(_LostList, PlantedFeed):
    """A feed that robots.txt names."""

    lost = "/robots.txt"


class LostVoid(_LostList, PlantedVoid):
    """The description of a dump."""

    lost = "/.well-known/void"
    is_document = True


class LostCollection(_LostList, PlantedTree):
    """The first page of a collection."""

    lost = "/events"
    is_document = True
