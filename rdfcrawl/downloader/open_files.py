"""Limit the number of hosts visited in parallel by the limit of open files."""

from __future__ import annotations

import logging
import resource
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.queue.options import WorkerOptions

logger = logging.getLogger(__name__)

_OWN: Final = 100  # stores, log, Redis, reader processes, libraries
_PER_HOST: Final = 3  # a connection, a lookup or a context, a spool file


def limited_to_open_files(work: WorkerOptions, settings: BaseSettings) -> WorkerOptions:
    """Raise the limit of open files as needed, or else visit fewer hosts.

    Args:
        work: options of the worker.
        settings: of the crawl; updated for Scrapy.
    """
    n_hosts, n_slow = work.visits, work.slow_visits
    wanted = _OWN + _PER_HOST * (n_hosts + n_slow)
    limit = _raised(wanted)
    if limit >= wanted:
        return work
    n_possible = max(1, (limit - _OWN) // _PER_HOST)
    n_less = max(1, min(n_hosts, n_possible * n_hosts // max(1, n_hosts + n_slow)))
    logger.warning(
        "CONCURRENT_REQUESTS=%d and SLOW_VISITS=%d need %s, the limit"
        " (ulimit -n) is %d: using %d and %d",
        n_hosts,
        n_slow,
        counted(wanted, "descriptor"),
        limit,
        n_less,
        n_possible - n_less,
    )
    settings.set("CONCURRENT_REQUESTS", n_less, priority="cmdline")
    return replace(work, visits=n_less, slow_visits=n_possible - n_less)


def _raised(wanted: int) -> int:
    """Return the limit of this process, raised towards `wanted` as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinite = resource.RLIM_INFINITY
    if soft == infinite or soft >= wanted:
        return wanted if soft == infinite else soft
    most = wanted if hard == infinite else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):
        return soft
    return most
