"""A CKAN portal in memory that answers requests, with the faults real ones have."""

from __future__ import annotations

import bisect
import json
import re
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.source_tasks import CkanTask
from rdfcrawl.sources.ckan.envelope import CkanResponse
from rdfcrawl.sources.ckan.paging import (
    DEFAULT_PLAN_LIMITS,
    DatasetListing,
    PlanLimits,
)
from rdfcrawl.sources.ckan.plan import (
    advance,
    check_listing,
    first_task,
    iter_confirmations,
    request_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfcrawl.sources.ckan.api import CkanRequest, PortalAddress
    from rdfcrawl.sources.ckan.paging import CkanOutcome

_FROM = re.compile(r"metadata_modified:\[([^ \]]+) TO \*\]")
_IDS = re.compile(r"\+id:\(([^)]*)\)")


def id_of(number: int) -> str:
    """Return the id of the n-th dataset; their order is not the one of numbers."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def time_of(number: int) -> str:
    """Return a time as CKAN writes it; greater numbers are later, a second each."""
    minutes, seconds = divmod(number, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    months, days = divmod(days, 28)
    years, months = divmod(months, 12)
    day = f"{2000 + years}-{months + 1:02}-{days + 1:02}"
    return f"{day}T{hours:02}:{minutes:02}:{seconds:02}.{number % 1000:03}456"


@dataclass
class FakePortal:
    """A portal whose n-th dataset is named `dataset-n`.

    Attributes:
        refuses: actions answered by 403, or `fq` and `sort`.
        cap: rows given at most.
        disorder: `sort` has no effect.
        ignores_start: every page is the first one.
        without_times: datasets do not say when they were modified.
        shifted: seconds by which shown times are later than indexed ones.
        broken: action -> body that is answered instead.
        before: called before each answer, with the number of requests so far.
    """

    n_datasets: int = 0
    refuses: frozenset[str] = frozenset()
    cap: int = 1000
    disorder: bool = False
    ignores_start: bool = False
    without_times: bool = False
    shifted: int = 0
    broken: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    before: Callable[[int], None] | None = None
    max_bytes: int = 0
    n_requests: int = 0
    n_searches: int = 0

    def __post_init__(self) -> None:
        self.rows: list[tuple[int, str, int]] = []  # time, id, number: sorted
        self.by_number: dict[int, tuple[int, str, int]] = {}
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.clock = 0
        for number in range(self.n_datasets):
            self._index(number, number)
            self.names.append(f"dataset-{number}")
        self.rows.sort()
        self.clock = self.n_datasets

    def _index(self, number: int, time: int) -> None:
        row = (time, id_of(number), number)
        self.rows.append(row)
        self.by_number[number] = row
        self.numbers[row[1]] = number

    def touch(self, number: int, *, time: int | None = None) -> None:
        """Change a dataset, or create it."""
        self.clock += 1
        old = self.by_number.get(number)
        if old is not None:
            del self.rows[bisect.bisect_left(self.rows, old)]
        else:
            self.names.append(f"dataset-{number}")
        self._index(number, self.clock if time is None else time)
        self.rows.sort()

    def delete(self, number: int) -> None:
        """Delete a dataset."""
        row = self.by_number.pop(number)
        del self.rows[bisect.bisect_left(self.rows, row)]
        del self.numbers[row[1]]
        self.names.remove(f"dataset-{number}")

    def package(self, row: tuple[int, str, int]) -> dict[str, Any]:
        """Return a dataset as `package_show` does."""
        time, own_id, number = row
        package: dict[str, Any] = {
            "id": own_id,
            "name": f"dataset-{number}",
            "title": f"Dataset {number}",
            "state": "active",
            "type": "dataset",
            "metadata_modified": time_of(time + self.shifted),
            "resources": [{"id": own_id, "url": f"http://data.example/{number}.ttl"}],
        }
        if self.without_times:
            del package["metadata_modified"]
        return package

    def answer(self, request: CkanRequest) -> CkanResponse:
        """Answer a request of the action API."""
        self.n_requests += 1
        if self.before is not None:
            self.before(self.n_requests)
        parts = urlsplit(request.url)
        action = parts.path.rpartition("/")[2]
        if action in self.broken:
            status, body = self.broken[action]
            return CkanResponse(status=status, body=body, url=request.url)
        given = {key: found[-1] for key, found in parse_qs(parts.query).items()}
        if action in self.refuses:
            return _failure(403, "Authorization Error", request)
        refused = {"fq", "sort"} & self.refuses & given.keys()
        if refused:
            return _failure(400, "Search Query Error", request)
        answer: CkanResponse = getattr(self, f"_{action}")(given, request)
        return answer

    def _package_search(
        self, given: dict[str, str], request: CkanRequest
    ) -> CkanResponse:
        self.n_searches += 1
        fq = given.get("fq", "")
        if ids := _IDS.search(fq):
            wanted = [one.strip('" ') for one in ids[1].split(" OR ")]
            numbers = [self.numbers[one] for one in wanted if one in self.numbers]
            found = [self.by_number[number] for number in numbers]
            return self._page(found, len(found), request)
        begin = 0
        if since := _FROM.search(fq):
            begin = self._first_from(since[1])
        start = 0 if self.ignores_start else int(given.get("start", "0"))
        rows = min(int(given.get("rows", "10")), self.cap)
        at = begin + start
        sort = given.get("sort", "")
        if self.disorder or not sort:
            found = [self.by_number[n] for n in sorted(self.by_number)][at : at + rows]
        elif sort.startswith("id"):
            ordered = sorted(self.numbers)[at : at + rows]
            found = [self.by_number[self.numbers[one]] for one in ordered]
        elif "desc" in sort:
            found = self.rows[::-1][at : at + rows]
        else:
            found = self.rows[at : at + rows]
        return self._page(found, len(self.rows) - begin, request)

    def _first_from(self, text: str) -> int:
        return bisect.bisect_left(
            self.rows, text, key=lambda row: time_of(row[0])[:23] + "Z"
        )

    def _page(
        self, rows: list[tuple[int, str, int]], count: int, request: CkanRequest
    ) -> CkanResponse:
        result = {
            "count": count,
            "sort": "x",
            "facets": {},
            "results": [self.package(row) for row in rows],
            "search_facets": {},
        }
        return self._success(result, request)

    def _package_list(
        self, given: dict[str, str], request: CkanRequest
    ) -> CkanResponse:
        offset = 0 if self.ignores_start else int(given.get("offset", "0"))
        limit = min(int(given.get("limit", "100000000")), self.cap)
        return self._success(self.names[offset : offset + limit], request)

    def _package_show(
        self, given: dict[str, str], request: CkanRequest
    ) -> CkanResponse:
        wanted = given["id"]
        number = self.numbers.get(wanted, -1)
        if wanted.startswith("dataset-"):
            number = int(wanted.removeprefix("dataset-"))
        row = self.by_number.get(number)
        if row is None:
            return _failure(404, "Not Found Error", request)
        return self._success(self.package(row), request)

    def _current_package_list_with_resources(
        self, given: dict[str, str], request: CkanRequest
    ) -> CkanResponse:
        offset = 0 if self.ignores_start else int(given.get("offset", "0"))
        limit = min(int(given["limit"]), self.cap)
        found = self.rows[::-1][offset : offset + limit]
        return self._success([self.package(row) for row in found], request)

    def _success(self, result: object, request: CkanRequest) -> CkanResponse:
        envelope = {"help": "h", "success": True, "result": result}
        body = json.dumps(envelope).encode()
        if self.max_bytes:
            body = body[: self.max_bytes]
        return CkanResponse(status=200, body=body, url=request.url)


def _failure(status: int, kind: str, request: CkanRequest) -> CkanResponse:
    envelope = {
        "help": "h",
        "success": False,
        "error": {"__type": kind, "message": "m"},
    }
    return CkanResponse(
        status=status, body=json.dumps(envelope).encode(), url=request.url
    )


@dataclass
class Memory:
    """Memory of a portal between harvests: id -> name."""

    known: dict[str, str] = field(default_factory=dict)


@dataclass
class Harvest:
    """One harvest, done as an adapter does it: every task goes through its text."""

    fake: FakePortal
    portal: PortalAddress
    memory: Memory
    limits: PlanLimits = DEFAULT_PLAN_LIMITS
    log: FaultLog = field(default_factory=FaultLog)
    written: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    newest: str = ""
    count: int | None = None
    is_swept: bool = False
    most_waiting: int = 0
    n_tasks: int = 0

    def go(self, *, since: str = "", rows: int = 100) -> Harvest:
        """Walk until nothing is left to do."""
        self.n_known = len(self.memory.known)
        task = first_task(
            self.portal,
            since=since,
            has_known=bool(self.n_known),
            rows=rows,
        )
        queue = deque([encode(task)])
        while queue:
            self.n_tasks += 1
            assert self.n_tasks < 100_000
            self.most_waiting = max(self.most_waiting, len(queue))
            queue.extend(encode(one) for one in self.step(queue.popleft()))
        return self

    def step(self, text: str) -> Sequence[CkanTask]:
        """Do one task, and return those that follow."""
        task = decode(text, CkanTask)
        answer = self.fake.answer(request_of(task, self.portal))
        outcome = advance(
            task,
            answer,
            self.portal,
            self.log,
            n_known=self.n_known,
            limits=self.limits,
        )
        self.take(outcome)
        if outcome.listing is None:
            return outcome.tasks
        return [*outcome.tasks, *self.compare(outcome.listing)]

    def take(self, outcome: CkanOutcome) -> None:
        """Process a response."""
        for package in outcome.packages:
            self.written[package.id] = self.written.get(package.id, 0) + 1
            self.memory.known[package.id] = package.name
        self.deleted += outcome.deleted
        for one in outcome.deleted:
            self.memory.known.pop(one, None)
        self.names.update(outcome.names)
        self.present.update(outcome.present)
        self.newest = max(self.newest, outcome.newest)
        self.count = outcome.count if outcome.count is not None else self.count
        self.is_swept |= outcome.is_swept

    def compare(self, listing: DatasetListing) -> list[CkanTask]:
        """Return the tasks that confirm missing datasets."""
        by_name = listing is DatasetListing.NAMES
        check_listing(
            n_listed=len(self.names if by_name else self.present),
            count=self.count,
        )

        missing = [
            one
            for one, name in self.memory.known.items()
            if not (name in self.names if by_name else one in self.present)
        ]
        return list(iter_confirmations(missing, by_search=by_name))
