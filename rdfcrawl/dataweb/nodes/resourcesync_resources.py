"""The resources of a Source: made of number and revision, changed by a seed."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from rdfcrawl.dataweb.nodes.base import LABEL, to_ntriples
from rdfcrawl.dataweb.nodes.site import EPOCH, TURTLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rdfcrawl.dataweb.nodes.base import Statement
    from rdfcrawl.dataweb.nodes.resourcesync_documents import Facts

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)

# Extension and media type by number of the resource; the first three are RDF.
TYPES = (
    ("ttl", TURTLE),
    ("nt", "application/n-triples"),
    ("jsonld", "application/ld+json"),
    ("json", "application/json"),
    ("csv", "text/csv"),
    ("bin", "application/octet-stream"),
)
N_RDF = 3
_HASHES = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256"}
ChangeKind = Literal["created", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class ResourceVersion:
    """One revision of a resource; the bytes follow from number and revision."""

    number: int
    revision: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class ResourceEvent:
    """One change: path, kind, time, and the new content."""

    path: str
    kind: ChangeKind
    at: datetime
    version: ResourceVersion


class ChangingResources:
    """All present resources, and the changes that led to them.

    Args:
        origin: of the source.
        n_resources: at the beginning.
        n_wrong: the first of them, whose hashes are wrong.
        hashes: that are stated of each.
        links: IRIs that RDF resources name.

    Attributes:
        now: when the last change was.
        versions: by path.
        events: all changes, in their order.
    """

    def __init__(
        self,
        origin: str,
        n_resources: int,
        *,
        n_wrong: int,
        hashes: tuple[str, ...],
        links: tuple[str, ...],
    ) -> None:
        self.origin = origin
        self.now: datetime = EPOCH
        self.versions: dict[str, ResourceVersion] = {}
        self.events: list[ResourceEvent] = []
        self._n_created, self._n_moves = n_resources, 0
        for number in range(n_resources):
            when = EPOCH - (n_resources - number) * SECOND
            self.versions[path_of(number)] = ResourceVersion(number, 0, when)
        self._wrong = frozenset(range(min(n_wrong, n_resources)))
        self._hashes, self._links = hashes, links
        self._facts_of: dict[tuple[int, int], Facts] = {}

    def wrong_paths(self) -> list[str]:
        """Return the paths of resources whose hashes are wrong."""
        return [p for p, one in self.versions.items() if one.number in self._wrong]

    def evolve(self, n: int = 20, *, seed: int = 1) -> Counter[str]:
        """Make `n` changes in the hour after the last: equal seeds make equal ones.

        A tenth are moves: the resource is deleted here and created there with the
        same bytes, so that there are more entries in the change list than changes.

        Returns:
            How many there are of `created`, `updated`, `deleted` and `moved`.
        """
        rng = random.Random(f"{seed}/{len(self.events)}")
        self.now += HOUR
        made: Counter[str] = Counter()
        kinds = ("created", "updated", "deleted", "moved")
        paths = list(self.versions)
        for _ in range(n):
            (kind,) = rng.choices(kinds, weights=(25, 45, 20, 10))
            if kind != "created" and not paths:
                kind = "created"
            self._change(kind, paths, rng)
            made[kind] += 1
        return made

    def _change(self, kind: str, paths: list[str], rng: random.Random) -> None:
        """Make one change; `paths` is kept equal to the keys of the resources."""
        if kind == "created":
            number, self._n_created = self._n_created, self._n_created + 1
            version = ResourceVersion(number, 0, self.now + SECOND)
            self._note(path_of(number), "created", version)
            paths.append(path_of(number))
            return
        position = rng.randrange(len(paths))
        path = paths[position]
        old = self.versions[path]
        if kind == "updated":
            version = ResourceVersion(old.number, old.revision + 1, self.now + SECOND)
            self._note(path, "updated", version)
            return
        paths[position] = paths[-1]
        paths.pop()
        self._note(path, "deleted", old)
        if kind == "moved":
            self._n_moves += 1
            stem, extension = path.rsplit(".", 1)
            stem = stem.partition("-moved-")[0]
            new = f"{stem}-moved-{self._n_moves}.{extension}"
            version = ResourceVersion(old.number, old.revision, self.now + SECOND)
            self._note(new, "created", version)
            paths.append(new)

    def _note(self, path: str, kind: ChangeKind, version: ResourceVersion) -> None:
        self.now += SECOND
        self.events.append(ResourceEvent(path, kind, self.now, version))
        if kind == "deleted":
            del self.versions[path]
        else:
            self.versions[path] = version

    def body(self, one: ResourceVersion) -> bytes:
        """Return the bytes of a resource."""
        rng = random.Random(f"{one.number}/{one.revision}")
        match TYPES[one.number % len(TYPES)][0]:
            case "ttl" | "nt":
                return to_ntriples(self.statements(one))
            case "jsonld":
                return self._json_ld(one)
            case "json":
                value = {"number": one.number, "revision": one.revision}
                return json.dumps(value, separators=(",", ":")).encode()
            case "csv":
                rows = (f"{k},{rng.random()}\n" for k in range(rng.randrange(1, 30)))
                return ("k,v\n" + "".join(rows)).encode()
        return rng.randbytes(rng.randrange(1, 4000))

    def _subject(self, one: ResourceVersion) -> str:
        # Not the URL of the resource: a move must not change the bytes.
        return f"{self.origin}/thing/{one.number}"

    def statements(self, one: ResourceVersion) -> Iterator[Statement]:
        """Yield the triples of an RDF resource."""
        subject = f"<{self._subject(one)}>"
        yield subject, LABEL, f'"Thing {one.number}, revision {one.revision}"@en'
        predicate = f"<{self.origin}/property-0>"
        for position, link in enumerate(self._links):
            if 6 * position == one.number:  # of the first type, and RDF therefore
                yield subject, predicate, f"<{link}>"

    def _json_ld(self, one: ResourceVersion) -> bytes:
        label = f"Thing {one.number}, revision {one.revision}"
        value = {"@id": self._subject(one), LABEL[1:-1]: {"@value": label}}
        value[LABEL[1:-1]] = {"@value": label, "@language": "en"}
        return json.dumps(value).encode()

    def facts(self, one: ResourceVersion) -> Facts:
        """Return hash, length and type; cached, since all lists have them."""
        key = (one.number, one.revision)
        facts = self._facts_of.get(key)
        if facts is None:
            body = self.body(one)
            hashed = body + b"!" if one.number in self._wrong else body
            hashes = [
                f"{name}:{hashlib.new(_HASHES[name], hashed).hexdigest()}"
                for name in self._hashes
            ]
            facts = {
                "hash": " ".join(hashes),
                "length": str(len(body)),
                "type": TYPES[one.number % len(TYPES)][1],
            }
            self._facts_of[key] = facts
        return facts


def path_of(number: int) -> str:
    """Return the path of a resource that was never moved."""
    return f"/data/r{number}.{TYPES[number % len(TYPES)][0]}"


def is_rdf(number: int) -> bool:
    """Return whether a resource is RDF."""
    return number % len(TYPES) < N_RDF
