"""Steps that follow from single documents of ResourceSync."""

from __future__ import annotations

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.source_tasks import (
    SyncTask,
)
from rdfcrawl.core.times import begin_us
from rdfcrawl.sources.resourcesync.mirror import (
    FollowStep,
    KnownResource,
    MirrorState,
    Step,
)
from rdfcrawl.sources.resourcesync.plan import follow
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY, SyncPolicy
from tests.support.resourcesync_source import (
    SITE,
    document,
    time_of,
)

URL = f"{SITE}/list.xml"
SINCE = begin_us(time_of(10))
STATE = MirrorState(url=URL, at_us=SINCE, seen_us=SINCE, has_baseline=True)


def steps_of(
    md: dict[str, str],
    entries: list[tuple[str, dict[str, str], str]],
    *,
    task: SyncTask | None = None,
    log: FaultLog | None = None,
    state: MirrorState = STATE,
    policy: SyncPolicy = DEFAULT_POLICY,
    is_index: bool = False,
    known: dict[str, KnownResource] | None = None,
) -> list[Step]:
    """Return the steps that follow from a document."""
    found = known or {}
    return list(
        follow(
            document(md, entries, is_index=is_index),
            task or SyncTask(),
            url=URL,
            log=log if log is not None else FaultLog(),
            state=state,
            lookup=lambda uris: {uri: found[uri] for uri in uris if uri in found},
            policy=policy,
        )
    )


def followed(steps: list[Step]) -> list[FollowStep]:
    """Return the records."""
    return [step for step in steps if isinstance(step, FollowStep)]


def change(name: str, kind: str, **more: str) -> tuple[str, dict[str, str], str]:
    """Return an entry of a change list; `lastmod` is an element."""
    lastmod = more.pop("lastmod", "")
    xml = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"{SITE}/{name}", {"change": kind, **more}, xml


CHANGES = {"capability": "changelist", "from": time_of(0)}
