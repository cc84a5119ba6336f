"""The datasets of a portal, each generated from its number on request."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.namespaces import DCAT, XSD
from rdfcrawl.core.namespaces import DCTERMS as DCT
from rdfcrawl.dataweb.nodes.base import LABEL, RDF_TYPE
from rdfcrawl.dataweb.nodes.site import DAY, EPOCH, TURTLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rdfcrawl.dataweb.nodes.base import Statement

N_ORGANIZATIONS, N_GROUPS, N_TAGS = 20, 7, 50
SPACING = timedelta(minutes=30)  # between the changes of two datasets, at first
_LOW = (1 << 48) - 1
_FREQUENCIES = ("daily", "weekly", "monthly", "annual", "irregular")


@dataclass(frozen=True, slots=True)
class PortalRevision:
    """Ids of datasets that one step has changed, deleted and created."""

    changed: frozenset[str]
    deleted: frozenset[str]
    created: frozenset[str]


class PortalDatasets:
    """All datasets of a portal, kept as a list of the present ones and of changes.

    Args:
        origin: of the portal.
        n_datasets: at the beginning.
        rdf_every: each so-many-th has a Turtle file; 0 for none.
        n_wide: resources of dataset 0, if more than its usual ones.
        links: IRIs of resources, in addition to files of the portal.
    """

    def __init__(
        self,
        origin: str,
        n_datasets: int,
        *,
        rdf_every: int = 0,
        n_wide: int = 0,
        links: tuple[str, ...] = (),
    ) -> None:
        self.origin = origin
        self.now: datetime = EPOCH
        self._n_first = self._n_ever = n_datasets
        self._rdf_every, self._n_wide, self._all_links = rdf_every, n_wide, links
        self._is_there = bytearray(b"\1" * n_datasets)
        self._changed: dict[int, tuple[int, datetime]] = {}

    def __len__(self) -> int:
        return sum(self._is_there)

    @property
    def n_ever(self) -> int:
        """Number of all datasets that ever were; theirs are below."""
        return self._n_ever

    def is_there(self, number: int) -> bool:
        """Return whether a dataset exists now."""
        return number < self._n_ever and bool(self._is_there[number])

    def ids(self) -> list[str]:
        """Return the ids of all present datasets."""
        return [self.id_of(number) for number in self.iter_there()]

    def names(self) -> list[str]:
        """Return the names of all present datasets."""
        return [name_of(number) for number in self.iter_there()]

    def id_of(self, number: int) -> str:
        """Return the id of a dataset."""
        high = f"{_mix(number):016x}"
        return f"{high[:8]}-{high[8:12]}-{high[12:]}-8000-{number:012x}"

    def revise(
        self,
        changed: int = 5,
        deleted: int = 3,
        *,
        created: int = 0,
        seed: int = 1,
    ) -> PortalRevision:
        """Let a day pass, on which datasets change, go and come.

        A change shows in title, `metadata_modified` and the Turtle file.
        """
        self.now += DAY
        rng = random.Random(f"{seed}/{self.now}")
        there = list(self.iter_there())
        chosen = rng.sample(there, min(changed + deleted, len(there)))
        gone = chosen[min(changed, len(chosen)) :]
        kept = chosen[: min(changed, len(chosen))]
        new = range(self._n_ever, self._n_ever + created)
        self._n_ever += created
        self._is_there.extend(b"\1" * created)
        for number in gone:
            self._is_there[number] = 0
        for number in (*kept, *new):
            self.now += timedelta(seconds=1)
            revision = self._changed.get(number, (0, EPOCH))[0]
            is_new = number in new
            self._changed[number] = (revision + (not is_new), self.now)
        return PortalRevision(
            *(frozenset(map(self.id_of, one)) for one in (kept, gone, new))
        )

    def iter_truth(self) -> Iterator[Statement]:
        """Yield patterns of each dataset, none joined, and the triples of files."""
        for number in self.iter_there():
            dataset = f"_:d{number}"
            yield dataset, RDF_TYPE, f"<{DCAT}Dataset>"
            yield dataset, f"<{DCT}title>", f'"{self.title(number)}"'
            for nth in range(self.n_resources(number)):
                distribution = f"_:r{number}x{nth}"
                yield dataset, f"<{DCAT}distribution>", distribution
                yield distribution, RDF_TYPE, f"<{DCAT}Distribution>"
                url = self._resource_url(number, nth)
                yield distribution, f"<{DCAT}accessURL>", f"<{url}>"
            if self._has_rdf(number):
                yield from self.file_statements(number)

    def iter_there(self) -> Iterator[int]:
        """Yield the numbers of all datasets that there are now."""
        return (number for number, is_there in enumerate(self._is_there) if is_there)

    def number_of(self, wanted: str) -> int | None:
        """Return the number of a name or id; None if no dataset has it now."""
        text = wanted.removeprefix("dataset-")
        try:
            number = int(text) if text.isdecimal() else uuid.UUID(wanted).int & _LOW
        except ValueError:
            return None
        if number >= self._n_ever or not self._is_there[number]:
            return None
        return number if wanted in (name_of(number), self.id_of(number)) else None

    def iri(self, number: int) -> str:
        """Return the IRI of a dataset in native DCAT."""
        return f"<{self.origin}/dataset/{self.id_of(number)}>"

    def _revision(self, number: int) -> int:
        return self._changed.get(number, (0, EPOCH))[0]

    def title(self, number: int) -> str:
        """Return the title of a dataset."""
        return f"Dataset {number}, revision {self._revision(number)}"

    def modified(self, number: int) -> datetime:
        """Return the time of the last change of a dataset."""
        known = self._changed.get(number)
        return known[1] if known else self.created(number)

    def created(self, number: int) -> datetime:
        """Return the time of creation of a dataset."""
        if number >= self._n_first:
            return self._changed[number][1]
        # In no order of the numbers: the walk by time is another than that by name.
        place = (number * 7919) % self._n_first
        if self._n_first % 7919 == 0:
            place = number
        return EPOCH - (self._n_first - place) * SPACING

    def n_resources(self, number: int) -> int:
        """Count the resources of a dataset, links to other nodes included."""
        return self.n_own(number) + len(self._links(number))

    def n_own(self, number: int) -> int:
        """Count the resources that are files of the portal."""
        usual = 1 + number % 3
        return max(usual, self._n_wide) if number == 0 else usual

    def _links(self, number: int) -> tuple[str, ...]:
        """Return the links to other nodes of a dataset: all datasets have a share."""
        links = self._all_links
        return links[number :: self._n_first] if number < len(links) else ()

    def _has_rdf(self, number: int) -> bool:
        every = self._rdf_every
        return bool(every) and number % every == 0

    def file_path(self, number: int, nth: int) -> str:
        """Return the path of a file."""
        extension = "ttl" if nth == 0 and self._has_rdf(number) else "csv"
        return f"/files/{number}/{nth}.{extension}"

    def _resource_url(self, number: int, nth: int) -> str:
        n_own = self.n_own(number)
        if nth >= n_own:
            return self._links(number)[nth - n_own]
        return self.origin + self.file_path(number, nth)

    def _resource(self, number: int, nth: int) -> dict[str, Any]:
        url = self._resource_url(number, nth)
        is_rdf = url.endswith(".ttl")
        own = {True: ("TTL", TURTLE), False: ("CSV", "text/csv")}[is_rdf]
        format_name, media_type = own if nth < self.n_own(number) else ("", "")
        return {
            "id": f"{_mix(number):016x}-{nth}",
            "package_id": self.id_of(number),
            "name": f"file {nth}",
            "description": "",
            "url": url,
            "format": format_name,
            "mimetype": media_type,
            "size": None,
            "hash": "",
            "created": ckan_time(self.created(number)),
            "last_modified": ckan_time(self.modified(number)),
            "position": nth,
            "state": "active",
            "url_type": None,
        }

    def package(self, number: int) -> dict[str, Any]:
        """Return a dataset as `package_show` does."""
        n_resources = self.n_resources(number)
        organization = f"organization-{number % N_ORGANIZATIONS}"
        frequency = _FREQUENCIES[number % len(_FREQUENCIES)]
        return {
            "id": self.id_of(number),
            "name": name_of(number),
            "title": self.title(number),
            "notes": f"What is known about thing {number}.",
            "author": "A. Nobody",
            "author_email": "nobody@example.org",
            "maintainer": "",
            "maintainer_email": "",
            "license_id": "cc-by",
            "license_title": "Creative Commons Attribution",
            "license_url": "http://www.opendefinition.org/licenses/cc-by",
            "metadata_created": ckan_time(self.created(number)),
            "metadata_modified": ckan_time(self.modified(number)),
            "owner_org": id_of_section(organization),
            "organization": describe_section("organization", organization),
            "groups": [describe_section("group", f"group-{number % N_GROUPS}")],
            "tags": [{"name": f"tag-{number % N_TAGS}", "state": "active"}],
            "num_tags": 1,
            "private": False,
            "state": "active",
            "type": "dataset",
            "url": "",
            "version": str(self._revision(number)),
            "extras": [{"key": "frequency", "value": frequency}],
            "num_resources": n_resources,
            "resources": [self._resource(number, nth) for nth in range(n_resources)],
        }

    def describe(self, number: int) -> Iterator[Statement]:
        """Yield a dataset in native DCAT."""
        dataset = self.iri(number)
        yield dataset, RDF_TYPE, f"<{DCAT}Dataset>"
        yield dataset, f"<{DCT}title>", f'"{self.title(number)}"'
        yield dataset, f"<{DCT}identifier>", f'"{self.id_of(number)}"'
        when = f"{self.modified(number):%Y-%m-%dT%H:%M:%S}"
        xsd = f"{XSD}dateTime"
        yield dataset, f"<{DCT}modified>", f'"{when}"^^<{xsd}>'
        for nth in range(self.n_resources(number)):
            distribution = f"<{self.origin}/resource/{number}-{nth}>"
            yield dataset, f"<{DCAT}distribution>", distribution
            yield distribution, RDF_TYPE, f"<{DCAT}Distribution>"
            url = self._resource_url(number, nth)
            yield distribution, f"<{DCAT}accessURL>", f"<{url}>"

    def file_statements(self, number: int) -> Iterator[Statement]:
        """Yield the triples of the Turtle file of a dataset."""
        subject = f"<{self.origin}/thing/{number}>"
        yield subject, LABEL, f'"Thing {number}, revision {self._revision(number)}"@en'


def _mix(number: int) -> int:
    """Scatter numbers, one to one, so that the order of ids is that of nothing."""
    return (number * 0x9E3779B97F4A7C15 + 0x1234567) & ((1 << 64) - 1)


def name_of(number: int) -> str:
    """Return the name of a dataset."""
    return f"dataset-{number:07}"


def ckan_time(when: datetime) -> str:
    """Write a time as CKAN does: microseconds, no zone, and UTC is meant."""
    return when.replace(tzinfo=None).isoformat(timespec="microseconds")


def section_names(section: str, count: int) -> list[str]:
    """Return the names of all organizations, or of all groups."""
    return [f"{section}-{number}" for number in range(count)]


@lru_cache(maxsize=1000)
def id_of_section(name: str) -> str:
    """Return the id of an organization or a group."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def describe_section(section: str, name: str) -> dict[str, Any]:
    """Return an organization or a group as shown to clients."""
    return {
        "id": id_of_section(name),
        "name": name,
        "title": name.replace("-", " ").title(),
        "type": section,
        "state": "active",
    }
