"""A source of resources with a history, and a mirror that follows it by records.

The mirror plays the adapter: a queue of records, a memory, and bytes.
"""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.source_tasks import ResourceChange, SyncMode, SyncStep, SyncTask
from rdfcrawl.core.times import text_of
from rdfcrawl.sources.resourcesync.dumps import unpack
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, check_bytes
from rdfcrawl.sources.resourcesync.mirror import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    KnownResource,
    ListedResources,
    MirrorState,
    OpenedSet,
    RunPart,
    StatedResource,
    UnfetchedResource,
    commit,
    is_settled,
    n_outstanding,
    next_attempt,
    version_of,
)
from rdfcrawl.sources.resourcesync.patch import apply_patch
from rdfcrawl.sources.resourcesync.plan import fallback, follow, superfluous
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY
from rdfcrawl.sources.resourcesync.resources import fitted, source_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rdfcrawl.sources.resourcesync.mirror import Step
    from rdfcrawl.sources.resourcesync.policy import SyncPolicy

SITE = "http://source.example"
CAPABILITIES = f"{SITE}/capabilitylist.xml"
EPOCH_SECS = 1_357_000_000


def time_of(tick: int) -> str:
    """Return the time of a tick of the source's clock, one a second."""
    return text_of((EPOCH_SECS + tick) * 10**6)


def element(name: str, attributes: Mapping[str, str], inner: str = "") -> str:
    """Return an element as XML; attributes without value are left out."""
    parts = "".join(f" {k}={quoteattr(v)}" for k, v in attributes.items() if v)
    return f"<{name}{parts}>{inner}</{name}>"


def document(
    md: Mapping[str, str],
    entries: Sequence[tuple[str, Mapping[str, str], str]],
    *,
    is_index: bool = False,
    up: str = CAPABILITIES,
) -> bytes:
    """Return a document; an entry is its location, its `rs:md`, and more XML."""
    root, item = ("sitemapindex", "sitemap") if is_index else ("urlset", "url")
    body = "".join(
        f"<{item}><loc>{escape(loc)}</loc>{element('rs:md', facts)}{more}</{item}>\n"
        for loc, facts, more in entries
    )
    return (
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:rs="http://www.openarchives.org/rs/terms/">'
        f"{element('rs:ln', {'rel': 'up', 'href': up})}{element('rs:md', md)}"
        f"{body}</{root}>"
    ).encode()


def facts_of(data: bytes) -> dict[str, str]:
    """Return how a source describes bytes."""
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    sha = hashlib.sha256(data).hexdigest()
    return {"hash": f"md5:{md5} sha-256:{sha}", "length": str(len(data))}


@dataclass
class SourceSite:
    """A site whose resources change.

    Attributes:
        now: tick of its clock.
        resources: the present ones.
        log: (tick, URI, change, bytes) of all changes.
        files: documents and archives by URL, without the resources.
    """

    seed: int = 1
    now: int = 0
    resources: dict[str, bytes] = field(default_factory=dict)
    log: list[tuple[int, str, ResourceChange, bytes]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._n = 0

    def create(self) -> None:
        """Make a resource."""
        self._n += 1
        self.put(f"{SITE}/res/{self._n}?a=1&b={self._n}", ResourceChange.CREATED)

    def put(self, uri: str, change: ResourceChange, data: bytes | None = None) -> None:
        """Create or update a resource."""
        if data is None:
            data = self._random.randbytes(self._random.randrange(2000))
        self.resources[uri] = data
        self.log.append((self.now, uri, change, data))

    def delete(self, uri: str) -> None:
        """Delete a resource."""
        del self.resources[uri]
        self.log.append((self.now, uri, ResourceChange.DELETED, b""))

    def change(self) -> None:
        """Create, update, delete or move something; the clock may or may not tick."""
        self.now += self._random.randrange(2)
        kind = self._random.choice(["create", "update", "update", "delete", "move"])
        if kind == "create" or not self.resources:
            self.create()
            return
        uri = self._random.choice(list(self.resources))
        if kind == "update":
            self.put(uri, ResourceChange.UPDATED)
        else:
            data = self.resources[uri]
            self.delete(uri)
            if kind == "move":
                self._n += 1
                self.put(f"{SITE}/moved/{self._n}", ResourceChange.CREATED, data)

    def publish(self, *ways: str, since: int = 0, n_per_list: int = 100) -> None:
        """Write the documents of these capabilities.

        Args:
            ways: `resourcelist`, `resourcedump`, `changelist`, `changedump`.
            since: tick of the first listed change.
            n_per_list: entries of a list, resources of an archive.
        """
        entries = [(f"{SITE}/{way}.xml", {"capability": way}, "") for way in ways]
        self.files[CAPABILITIES] = document(
            {"capability": "capabilitylist"}, entries, up=f"{SITE}/description.xml"
        )
        for way in ways:
            if way.startswith("resource"):
                self._publish_resources(way, n_per_list)
            else:
                self._publish_changes(way, since, n_per_list)

    def _publish_resources(self, way: str, n: int) -> None:
        md = {"capability": way, "at": time_of(self.now)}
        items = [
            (uri, ResourceChange.UPDATED, self.resources[uri])
            for uri in sorted(self.resources)
        ]
        pages = [items[i : i + n] for i in range(0, len(items), n)] or [[]]
        parts = []
        for page in pages:
            listed = [(uri, facts_of(data), "") for uri, _, data in page]
            parts.append((listed, [data for *_, data in page], md))
        self._publish_parts(way, md, parts)

    def _publish_changes(self, way: str, since: int, n: int) -> None:
        changes = [each for each in self.log if each[0] >= since]
        pages = [changes[i : i + n] for i in range(0, len(changes), n)] or [[]]
        parts = []
        for page in pages:
            begin = page[0][0] if page else since
            md = {"capability": way, "from": time_of(begin)}
            if page and page is not pages[-1]:
                md["until"] = time_of(page[-1][0])
            listed = [
                (
                    uri,
                    {
                        "change": change.value,
                        "datetime": time_of(tick),
                        **({} if change is ResourceChange.DELETED else facts_of(data)),
                    },
                    "",
                )
                for tick, uri, change, data in page
            ]
            parts.append((listed, [data for *_, data in page], md))
        self._publish_parts(way, {"capability": way, "from": time_of(since)}, parts)

    def _publish_parts(
        self,
        way: str,
        md: dict[str, str],
        parts: list[
            tuple[list[tuple[str, dict[str, str], str]], list[bytes], dict[str, str]]
        ],
    ) -> None:
        entries = []
        for k, (listed, contents, own) in enumerate(parts):
            times = {name: value for name, value in own.items() if name != "capability"}
            if way.endswith("list"):
                url = f"{SITE}/{way}-{k}.xml"
                self.files[url] = document(own, listed)
            else:
                url = f"{SITE}/{way}-{k}-{self.now}.zip"
                self.files[url] = archive(f"{way}-manifest", times, listed, contents)
                times |= facts_of(self.files[url])
            entries.append((url, times, ""))
        is_index = way.endswith("list")
        self.files[f"{SITE}/{way}.xml"] = document(md, entries, is_index=is_index)

    def get(self, url: str) -> bytes | None:
        """Return the response of a URL; None: 404."""
        found = self.files.get(url)
        return found if found is not None else self.resources.get(url)


def archive(
    capability: str,
    times: Mapping[str, str],
    listed: Sequence[tuple[str, Mapping[str, str], str]],
    contents: Sequence[bytes],
    *,
    manifest: str = "manifest.xml",
) -> bytes:
    """Return a part of a dump; resources listed without a hash have no bytes in it."""
    out = io.BytesIO()
    entries = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for i, ((uri, facts, more), data) in enumerate(
            zip(listed, contents, strict=True)
        ):
            if facts.get("change") != "deleted":
                zipped.writestr(f"resources/{i}", data)
                facts = {**facts, "path": f"/resources/{i}"}  # noqa: PLW2901
            entries.append((uri, facts, more))
        text = document({"capability": capability, **times}, entries)
        zipped.writestr(manifest, text)
    return out.getvalue()


class Killed(Exception):
    """The process died."""


@dataclass
class Mirror:
    """The work of an adapter, in a few dictionaries that survive a crash.

    Attributes:
        data: bytes by URI.
        known: memory of resources, as text.
        wanted: latest requested version, by URI.
        states: memory of sources, as text.
        parts: of each source and run by place, as text.
        queue: records (URL, task) that wait, in order of their coming.
        seen: records that were queued ever.
        budget: steps and requests until the process dies; None: it does not.
        requests: requested URLs.
    """

    source: SourceSite
    policy: SyncPolicy = DEFAULT_POLICY
    data: dict[str, bytes] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    queue: dict[tuple[str, str], None] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    log: FaultLog = field(default_factory=FaultLog)
    budget: int | None = None
    order: random.Random | None = None
    requests: list[str] = field(default_factory=list)

    def start(self, run: str = "1", mode: SyncMode = SyncMode.SYNC) -> None:
        """Queue the source."""
        self.add(CAPABILITIES, SyncTask(run=run, mode=mode))

    def sync(self, run: str = "1", mode: SyncMode = SyncMode.SYNC) -> None:
        """Do all requests of a run."""
        self.start(run, mode)
        self.work()

    def add(self, url: str, task: SyncTask) -> None:
        """Queue a record, if it is new."""
        key = url, encode(fitted(task))
        if key not in self.seen:
            self.seen.add(key)
            self.queue[key] = None

    def work(self) -> None:
        """Empty the queue; a record leaves it when all that it led to is there."""
        while self.queue:
            keys = list(self.queue)
            key = self.order.choice(keys) if self.order else keys[0]
            self._visit(key[0], decode(key[1], SyncTask))
            del self.queue[key]

    def _state(self, source: str) -> MirrorState:
        text = self.states.get(source)
        return decode(text, MirrorState) if text else MirrorState()

    def _tick(self) -> None:
        if self.budget is not None:
            self.budget -= 1
            if self.budget < 0:
                raise Killed

    def lookup(self, uris: Sequence[str]) -> dict[str, KnownResource]:
        """Return the known resources."""
        return {
            uri: decode(self.known[uri], KnownResource)
            for uri in uris
            if uri in self.known
        }

    def _visit(self, url: str, task: SyncTask) -> None:
        if task.do in {SyncStep.GET, SyncStep.PATCH}:
            self._get(url, task)
            return
        self._tick()
        self.requests.append(url)
        body = self.source.get(url)
        is_right = body is not None
        if body is not None and task.do is SyncStep.UNPACK:
            try:
                check_bytes(body, ExpectedBytes.stated(task.hashes, task.length))
            except SourceFault as fault:
                self.log.note(fault.fault.reason, fault.fault.detail)
                is_right = False
        state = self._state(task.source or source_id(url))
        if body is None or not is_right:
            other = fallback(task)
            if other is not None:
                self.add(state.url, other)
            return
        read = unpack if task.do is SyncStep.UNPACK else follow
        steps = read(
            body,
            task,
            url=url,
            log=self.log,
            state=state,
            lookup=self.lookup,
            policy=self.policy,
        )
        for step in steps:
            self._tick()
            self._do(step)

    def _do(self, step: Step) -> None:
        if isinstance(step, FollowStep):
            self._want(step)
        elif isinstance(step, OpenedSet):
            state = self._state(step.source)
            if not state.url:
                self.states[step.source] = encode(MirrorState(url=step.url))
        elif isinstance(step, DeletedResource):
            self.data.pop(step.version.uri, None)
            self._tick()  # between two writes
            self._remember(step.version)
        elif isinstance(step, DumpedResource):
            with step.source.open() as file:
                self._write(step.version, file.read())
        elif isinstance(step, ListedResources):
            for uri, known in self.lookup(step.uris).items():
                self.known[uri] = encode(replace(known, run=step.run))
        elif isinstance(step, RunPart):
            self._part(step)
        elif isinstance(step, UnfetchedResource):
            self._remember(step.version)

    def _want(self, step: FollowStep) -> None:
        self.add(step.url, step.task)
        if (
            step.task.do in {SyncStep.GET, SyncStep.PATCH}
            and step.task.as_of_us is not None
        ):
            uri = version_of(step.task, step.url).uri
            before = self.wanted.get(uri, step.task.as_of_us)
            self.wanted[uri] = max(before, step.task.as_of_us)

    def _write(self, version: StatedResource, data: bytes) -> None:
        self.data[version.uri] = data
        self._tick()
        self._remember(version)

    def _remember(self, version: StatedResource) -> None:
        old = self.lookup([version.uri]).get(version.uri)
        new = version.known()
        run = new.run or (old.run if old else "")
        self.known[version.uri] = encode(replace(new, run=run))

    def _get(self, url: str, task: SyncTask) -> None:
        version = version_of(task, url)
        known = self.lookup([version.uri]).get(version.uri)
        if is_settled(version, known, wanted_us=self.wanted.get(version.uri)):
            return
        self._tick()
        self.requests.append(url)
        try:
            body = self._fetched(url, task, version)
        except SourceFault as fault:
            self.log.note(fault.fault.reason, fault.fault.detail)
            following = next_attempt(task, url)
            if following is not None:
                self.add(*following)
            return
        self._write(version, body)

    def _fetched(self, url: str, task: SyncTask, version: StatedResource) -> bytes:
        body = self.source.get(url)
        if body is None:
            raise SourceFault(Reason.NOT_FOUND)
        if task.do is SyncStep.PATCH:
            check_bytes(
                body, ExpectedBytes.stated(task.patch_hashes, task.patch_length)
            )
            before = self.data[version.uri]
            return apply_patch(
                before,
                body,
                media_type=task.media_type,
                fixity=ExpectedBytes.stated(task.hashes, task.length),
            )
        check_bytes(body, ExpectedBytes.stated(task.hashes, task.length))
        return body

    def _part(self, part: RunPart) -> None:
        kept = self.parts.setdefault(f"{part.source} {part.run}", {})
        kept[part.place] = encode(part)
        parts = {place: decode(text, RunPart) for place, text in kept.items()}
        if "" not in parts or n_outstanding(parts.values()):
            return
        state, tasks = commit(self._state(part.source), parts)
        if part.mode is SyncMode.AUDIT:
            gone = superfluous(
                list(self.data), self.lookup, run=part.run, at_us=state.at_us
            )
            for version in gone:
                self._do(DeletedResource(version))
        for task in tasks:
            self.add(state.url, task)
        self.states[part.source] = encode(state)


def fixity_of(data: bytes) -> ExpectedBytes:
    """Return the fixity that bytes have."""
    return ExpectedBytes((("sha256", hashlib.sha256(data).digest()),), len(data))
