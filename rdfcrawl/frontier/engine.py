"""Scrapy's engine as the scheduler sees it: its state, and places for visits.

The engine keeps a request in progress until its callback, all pipelines of its items
and all their output are processed (`_handle_downloader_output`), successfully or not:
the only correct moment to commit. Scrapy has no hook for it yet (scrapy#7978 proposes
one); only this file depends on its private names.

Two kinds of visits are slow: waiting for a silent host, and long transfers with
progress. Each kind has half of the places, and lends free ones to the other: silent
hosts stop no dumps, and dumps no silent hosts.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.python.failure import Failure

from rdfcrawl.core.errors import one_line

if TYPE_CHECKING:
    from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
    from scrapy.core.engine import _Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.core.visits import Visit

V = TypeVar("V")
_REMEMBERED_SECS: Final = 600.0
_MOST_HOSTS: Final = 10_000
# when others wait, a visit without a response gives up its place after this
_NO_ANSWER_SECS: Final = 0.5


def has_receivers(crawler: Crawler, signal: object) -> bool:
    """Return whether a signal of a crawler has any receivers."""
    anyone = dispatcher.Any
    for sender in (crawler, anyone):
        receivers = dispatcher.connections.get(id(sender))
        if receivers and (signal in receivers or anyone in receivers):
            return True
    return False


class SparingSignals:
    """The signals of a crawler; those without receivers are not sent.

    Responses are counted here: `CrawlStats` needs no signal for each visit.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._signals = crawler.signals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._signals, name)

    async def send_catch_log_async(
        self, signal: Any, **named: Any
    ) -> list[tuple[Any, Any]]:
        """See `SignalManager.send_catch_log_async`."""
        if not has_receivers(self._crawler, signal):
            return []
        return await self._signals.send_catch_log_async(signal, **named)

    def send_catch_log(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        """See `SignalManager.send_catch_log`."""
        if signal is signals.response_received:
            self._crawler.stats.inc_value("response_received_count")
        if not has_receivers(self._crawler, signal):
            return []
        return self._signals.send_catch_log(signal, **named)


class VisitMiddlewares:
    """The downloader middlewares of a crawler, of which visits pass fewer.

    Scrapy's own change and count the requests of pages, and leave visits unchanged.
    """

    def __init__(self, middlewares: DownloaderMiddlewareManager) -> None:
        self._of_pages = middlewares
        self._of_visits = copy(middlewares)
        self._of_visits.methods = methods = copy(middlewares.methods)
        for name in ("process_request", "process_response"):
            methods[name] = deque(x for x in methods[name] if not _is_scrapys(x))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_pages, name)

    async def download_async(self, download: Any, request: Request) -> Any:
        """See `DownloaderMiddlewareManager.download_async`."""
        is_visit = request.url.startswith("visit:")
        passed = self._of_visits if is_visit else self._of_pages
        return await passed.download_async(download, request)


def _is_scrapys(method: Any) -> bool:
    return _module_of(method).startswith("scrapy.downloadermiddlewares.")


def _module_of(method: Any) -> str:
    module: str = type(getattr(method, "__self__", None)).__module__
    return module


def _is_known(module: str) -> bool:
    """Return whether a module is Scrapy's or ours, and not one of a project."""
    return module.partition(".")[0] in ("scrapy", "rdfcrawl")


class VisitRequest(Request):
    """The request of a visit, whose URL needs no escapes."""

    def _set_url(self, url: str) -> None:
        self._url = url


def note_error(failure: Failure) -> NoReturn:
    """Note an exception of a downloader middleware for the records of a visit."""
    request: Request = failure.request  # type: ignore[attr-defined]
    error: BaseException = failure.value  # type: ignore[assignment]
    request.meta["visit"].error = one_line(repr(error))
    raise error


class EngineView:
    """The engine of a crawler, which may not exist yet."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._held: tuple[_Slot, Request] | None = None

    def hold(self) -> None:
        """Keep the engine from closing its spider until `let_go`."""
        if self._slot is not None:
            request = Request("visit://hold/")
            self._slot.add_request(request)
            self._held = self._slot, request

    def let_go(self) -> None:
        """Let the engine close its spider."""
        if self._held is not None:
            slot, request = self._held
            self._held = None
            slot.remove_request(request)

    @property
    def is_held_only_by_us(self) -> bool:
        """Whether no other request is in progress."""
        return len(self.in_progress) <= (self._held is not None)

    @property
    def in_progress(self) -> AbstractSet[Request]:
        """The requests in progress in the engine."""
        return self._slot.inprogress if self._slot else frozenset()

    @property
    def downloading(self) -> AbstractSet[Request]:
        """The requests in progress in the downloader."""
        engine = self._crawler.engine
        return engine.downloader.active if engine else frozenset()

    def allow(self, n: int) -> None:
        """Allow `n` requests in the downloader."""
        self._crawler.engine.downloader.total_concurrency = n

    @property
    def is_closing(self) -> bool:
        """Whether the spider is closing, with requests still in progress."""
        return self._slot is not None and self._slot.closing is not None

    @property
    def is_running(self) -> bool:
        """Whether the spider is open and the engine takes requests."""
        return self._crawler.engine.running

    @property
    def has_started(self) -> bool:
        """Whether all output of `Spider.start` was taken."""
        engine = self._crawler.engine
        return engine is not None and engine._start is None  # noqa: SLF001

    def wake(self) -> None:
        """Make the engine call the scheduler soon.

        Otherwise it does so every five seconds and after each response.
        """
        if self._slot is not None and self._slot.closing is None:
            self._slot.nextcall.schedule()

    def spare_steps(self) -> None:
        """Skip signals without receivers, and middlewares that do nothing for visits.

        They cost a future for each item, and a dozen calls for each visit.
        """
        engine: Any = self._crawler.engine
        signals = SparingSignals(self._crawler)
        engine.signals = engine.scraper.signals = signals
        downloader: Any = engine.downloader
        has_these_steps = isinstance(downloader, Downloader)
        if has_these_steps:
            downloader.signals = signals
            downloader.middleware = VisitMiddlewares(downloader.middleware)

    def has_foreign_parts(self) -> bool:
        """Return whether any component of a project takes part in visits."""
        engine: Any = self._crawler.engine
        parts = [engine, engine.downloader, engine.scraper]
        parts += engine.scraper.spidermw.middlewares
        if not all(_is_known(type(part).__module__) for part in parts):
            return True
        methods = engine.downloader.middleware.methods
        modules = [_module_of(each) for some in methods.values() for each in some]
        return not all(map(_is_known, modules))

    def begin(self, request: Request) -> None:
        """Count a request as in progress, in the engine and in the downloader."""
        engine: Any = self._crawler.engine
        engine._slot.add_request(request)  # noqa: SLF001
        engine.downloader.active.add(request)

    async def download(self, request: Request) -> Response | None:
        """Send a request through the downloader middlewares to its handler.

        Return the response; None if that failed, which is logged as Scrapy does.
        """
        engine: Any = self._crawler.engine
        downloader = engine.downloader
        try:
            found: Response = await downloader.middleware.download_async(
                self._handle, request
            )
        except Exception:
            failure = Failure()  # type: ignore[no-untyped-call]
            scraped: Any = engine.scraper.enqueue_scrape(failure, request)
            await maybe_deferred_to_future(scraped)
            return None
        finally:
            downloader.active.remove(request)
            self.wake()
        self._send(signals.response_received, request, response=found)
        return found

    async def _handle(self, request: Request) -> Response:
        handlers = self._crawler.engine.downloader.handlers
        handler: Any = handlers._get_handler("visit")  # noqa: SLF001
        self._send(signals.request_reached_downloader, request)
        found: Response = await handler.download_request(request)
        self._send(signals.response_downloaded, request, response=found)
        return found

    def _send(self, signal: object, request: Request, **named: Any) -> None:
        engine: Any = self._crawler.engine
        engine.signals.send_catch_log(
            signal, request=request, spider=self._crawler.spider, **named
        )

    def report_error(self, request: Request, response: Response) -> None:
        """Report the current exception as one of the callback of a request."""
        failure = Failure()  # type: ignore[no-untyped-call]
        self._crawler.engine.scraper.handle_spider_error(failure, request, response)

    def end(self, request: Request) -> None:
        """Count a request as over."""
        if self._slot is not None:
            self._slot.remove_request(request)
            self.wake()

    @property
    def _slot(self) -> _Slot | None:
        engine = self._crawler.engine
        return engine._slot if engine else None  # noqa: SLF001


class SlowPlaces(Generic[V]):
    """The places for slow visits.

    >>> places = SlowPlaces[str](2)
    >>> [places.give(visit, is_active=False) for visit in ("a", "b", "c")]
    [None, None, 'c']
    >>> places.give("dump", is_active=True)
    'b'
    """

    def __init__(self, n_places: int) -> None:
        self._n_places = n_places
        self._is_active: dict[V, bool] = {}  # in the order of arrival

    def __len__(self) -> int:
        return len(self._is_active)

    def __contains__(self, visit: V) -> bool:
        return visit in self._is_active

    def __iter__(self) -> Iterator[V]:
        return iter(self._is_active)

    def keep(self, visits: AbstractSet[V]) -> None:
        """Free the places of all other visits, which have ended."""
        for visit in [each for each in self._is_active if each not in visits]:
            del self._is_active[visit]

    def drop(self, visit: V) -> None:
        """Free the place of a visit, if it has one."""
        self._is_active.pop(visit, None)

    @property
    def is_full(self) -> bool:
        """Whether all places are taken."""
        return len(self) >= self._n_places

    @property
    def has_room(self) -> bool:
        """Whether a waiting visit would get a place of its kind."""
        n_waiting = sum(not is_active for is_active in self._is_active.values())
        return len(self) < self._n_places or n_waiting < self._n_places // 2

    def give(self, visit: V, *, is_active: bool) -> V | None:
        """Give a slow visit a place; return the visit without one now, if any.

        `is_active`: the visit is a transfer with progress.
        """
        if visit in self._is_active or len(self) < self._n_places:
            self._is_active[visit] = is_active
            return None
        half = self._n_places // 2
        share = self._n_places - half if is_active else half
        if sum(each is is_active for each in self._is_active.values()) >= share:
            return visit
        other = next(
            v for v, f in reversed(self._is_active.items()) if f is not is_active
        )
        del self._is_active[other]
        self._is_active[visit] = is_active
        return other


class SlowHosts:
    """Hosts that were slow lately; their next visit counts as slow from its start."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._now: set[str] = set()  # slow in their present visit

    def __contains__(self, key: str) -> bool:
        now = monotonic()
        return now - self._seen.get(key, -_REMEMBERED_SECS) < _REMEMBERED_SECS

    def note_slow(self, key: str) -> None:
        """Record that the visit of a host is slow."""
        self._now.add(key)
        self._seen[key] = monotonic()
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_HOSTS:
            self._seen.popitem(last=False)

    def end(self, key: str) -> None:
        """Record the end of a visit; a quick one clears its host."""
        if key in self._now:
            self._now.remove(key)
        elif self._seen:
            self._seen.pop(key, None)


class VisitPlaces:
    """The places of a worker's visits in Scrapy's downloader.

    Args:
        out: requests of the visits in progress.
        engine: of Scrapy.
        put_off: puts off a visit without a place.
    """

    def __init__(
        self,
        out: Mapping[Request, Visit],
        engine: EngineView,
        put_off: Callable[[Visit], None],
    ) -> None:
        self._out = out
        self._engine = engine
        self._put_off = put_off
        self._slow: SlowPlaces[Request] = SlowPlaces(0)
        self._slow_hosts = SlowHosts()
        self._lent: dict[Request, float] = {}  # -> begin of the step
        self._n_quick = self._n_slow_places = 0
        self._weight = 1

    def open(self, n_quick: int, n_slow: int, weight: int) -> None:
        """Set the numbers of places, and of Scrapy's requests per visit."""
        self._n_quick, self._n_slow_places, self._weight = n_quick, n_slow, weight
        self._slow = SlowPlaces(n_slow)

    @property
    def n_slow(self) -> int:
        """Number of visits in places for slow ones."""
        return len(self._slow)

    def count_slow(self) -> int:
        """Return the number of slow visits, without ended ones."""
        self._slow.keep(self._engine.downloading)
        return self.n_slow

    def has_room(self) -> bool:
        """Return whether another quick visit may begin; slow ones do not count."""
        downloading = self._engine.downloading
        n_slow = sum(request in downloading for request in self._slow)
        return len(downloading) - n_slow * self._weight < self._n_quick

    def has_room_for(self, key: str) -> bool:
        """Return whether the host may be visited: a slow one needs a place."""
        return key not in self._slow_hosts or self._slow.has_room

    def begin(self, request: Request, visit: Visit) -> None:
        """Give the visit of a slow host its place."""
        if visit.key in self._slow_hosts:
            self._place(request, is_active=False)

    def end(self, key: str) -> None:
        """Record the end of a visit."""
        self._slow_hosts.end(key)

    def reassign(
        self,
        now: float,
        slow_secs: float,
        active_transfers: Callable[[], AbstractSet[object]],
    ) -> None:
        """Move slow visits to places for slow ones.

        Those without a place go back to the frontier. `active_transfers` returns the
        tasks of transfers with progress.
        """
        downloading = self._engine.downloading
        slow = [
            request
            for request, visit in self._out.items()
            if now - visit.step_at > slow_secs and request in downloading
        ]
        tasks = active_transfers() if slow else frozenset()
        for request in slow:
            visit = self._out[request]
            if self._n_slow_places:
                self._slow_hosts.note_slow(visit.key)
            self._place(request, is_active=visit.task in tasks)
        self._lend_places(now)

    def _lend_places(self, now: float) -> None:
        """Lend the places of visits without a response to waiting ones.

        They do not count as slow, and return to the quick ones after a response.
        """
        for request, step_at in list(self._lent.items()):
            visit = self._out.get(request)
            if visit is None or visit.step_at != step_at:
                del self._lent[request]
                if visit is not None and visit.key not in self._slow_hosts:
                    self._slow.drop(request)
        if self.has_room():
            return
        for request, visit in self._out.items():
            if self._slow.is_full:
                break
            is_new = not visit.documents and request not in self._slow
            if is_new and now - visit.step_at > _NO_ANSWER_SECS:
                self._lent[request] = visit.step_at
                self._slow.give(request, is_active=False)

    def _place(self, request: Request, *, is_active: bool) -> None:
        other = self._slow.give(request, is_active=is_active)
        visit = self._out.get(other) if other is not None else None
        if visit is not None and visit.task is not None and not visit.is_cut:
            self._put_off(visit)
            visit.cut()
