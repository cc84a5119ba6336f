"""Run the extractors of a page, isolated from each other."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rdfcrawl.core.errors import (
    OWN,
    Fault,
    FaultLog,
    NeedsSandbox,
    Reason,
    SourceFault,
    fault_of_exception,
)
from rdfcrawl.core.formats import HEAD_BYTES
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.extractors import (
    EXTRUCT_REASONS,
    MAX_EXTRUCT_BYTES,
    CustomExtractor,
    Extractor,
    scan,
)
from rdfcrawl.rdf.html.page_links import (
    PageReservations,
    has_links_in_body,
    links_of_page,
)

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage
    from rdfcrawl.rdf.html.rules import PageRule
    from rdfcrawl.rdf.output import QuadLines, QuadOutput


T = TypeVar("T")

# Cheap ones first: their output is complete before another can fail.
_READ_TWICE: Final = frozenset({Extractor.MICRODATA, Extractor.RDFA})
_IN_TEMPLATES: Final = _READ_TWICE | {Extractor.JSON_LD, Extractor.SCRIPTS}
_OF_HEADS: Final = frozenset({Extractor.JSON_LD, Extractor.OPEN_GRAPH})
ORDER: Final = tuple(Extractor)
_FUNCTIONS: Final = {  # imported on first use
    Extractor.MICRODATA: ("rdfcrawl.rdf.html.microdata", "extract_microdata"),
    Extractor.OPEN_GRAPH: ("rdfcrawl.rdf.html.meta", "extract_open_graph"),
    Extractor.DUBLIN_CORE: ("rdfcrawl.rdf.html.meta", "extract_dublin_core"),
}
_ODD_LANGUAGE = re.compile(
    rb"lang=(?<=[\s:]lang=)(?:[a-z]{2,3}(?P<mended>_)[a-z]|(?P<quote>[\"'])"
    rb"(?:\s*+[a-z]{2,3}(?P<also>_)[a-z]|(?!\s*+(?:[a-z]{1,8}(?:-[a-z\d]{1,8})*+\s*+)?[\"'])))"
)
_MAX_HELD_BYTES: Final = 16 * 2**20
_BUDGET: Final = 0.8  # share of the process's time for the document


class PageReading:
    """A page being read; iterate once, over chunks of N-Quads.

    `extractors` are the ones to run, or None for all that the page needs; `excluded`
    ones may not run here; `custom` extractors run last, or replace the built-in one of
    the same name. Links are added to `page.links`, faults to `log`; a fault names its
    extractor. In a bounded process each extractor has a time limit.

    Raises:
        NeedsSandbox: on first iteration: parsing may take long.

    Attributes:
        extracted: number of statements by extractor that ran.
        left: needed extractors that did not run.
        reservations: of the publisher; complete after the links were read.
        is_partial: an extractor failed, so statements are missing.
        uniform: items in the shape of extruct, as JSON; empty if not wanted.
    """

    def __init__(  # noqa: PLR0913 - each is of another make
        self,
        page: ParsedPage,
        *,
        extractors: frozenset[str] | None,
        excluded: frozenset[str],
        rules: tuple[PageRule, ...],
        custom: tuple[CustomExtractor, ...] = (),
        wants_hyperlinks: bool,
        environment: ReaderContext,
        limits: ParseLimits,
        log: FaultLog,
        output: QuadOutput,
        reservations: PageReservations | None = None,
        wants_uniform: bool = False,
    ) -> None:
        self._page, self._rules = page, rules
        self._wanted, self._excluded = extractors, excluded
        self._custom = {each.name: each for each in custom}
        self._wants_hyperlinks = wants_hyperlinks
        self._environment, self._limits = environment, limits
        self._log, self._output = log, output
        self.reservations = reservations or PageReservations()
        self.extracted: dict[str, int] = {}
        self.left: frozenset[str] = frozenset()
        self.is_partial = False
        self._wants_uniform, self.uniform = wants_uniform, ""
        self._failure: Fault | None = None  # of the last extractor
        self._timebox: TimeShares | None = None

    def __iter__(self) -> Iterator[QuadLines]:
        """Read the page; faults of the page are logged, not raised."""
        page = self._page
        needed = self._needed()
        of_tree = self._of_tree(needed)
        is_full_page = self._needs_full_page(of_tree)
        if self._wanted is None and self.reservations.are_in_body(page):
            is_full_page = True
        is_heavy = not page.is_json and (
            page.is_heavy if of_tree or is_full_page else page.is_head_heavy
        )
        if is_heavy:
            self._environment.demand_bounds("a page with very many tags")
        if self._environment.is_bounded:
            limits = self._limits
            secs = limits.secs + limits.secs_per_mb * len(page.data) / 1e6
            self._timebox = TimeShares(_BUDGET * secs)
        self.left = needed & self._excluded
        if self._wanted is None:  # else only the rest of the extractors runs here
            self._read_page_itself(is_full_page=is_full_page)
        if self.reservations.are_against_reading:
            self.left = frozenset()
            return
        for extractor in dict.fromkeys((*ORDER, *self._custom)):
            if extractor in needed and extractor not in self.left:
                yield from self._extract(extractor)
        if self._output.n_quads:
            self._note_languages()
        if self._wants_uniform and not page.is_json:
            from rdfcrawl.rdf.html.extruct_reading import uniform_json

            uniform = partial(uniform_json, page, self._environment, self._log)
            self.uniform = self._run("extruct", uniform) or ""

    def _note_languages(self) -> None:
        if found := _ODD_LANGUAGE.search(self._page.lower[:HEAD_BYTES]):
            is_mended = found["mended"] or found["also"]
            what = (
                "a language tag with an underscore" if is_mended else "no language tag"
            )
            self._log.note(Reason.REPAIRED, what, apart=True)

    def _of_tree(self, needed: frozenset[str]) -> frozenset[str]:
        """Return the extractors that need the tree of the full page."""
        runs = needed - self._excluded
        if not runs or not runs <= _OF_HEADS:
            return needed
        page = self._page
        is_in_head = (
            Extractor.JSON_LD not in runs or page.has_json_ld_in_head_only
        ) and (Extractor.OPEN_GRAPH not in runs or page.has_open_graph_in_head_only)
        return needed - runs if is_in_head else needed

    def _needs_full_page(self, of_tree: frozenset[str]) -> bool:
        """Return whether links are searched in the full page, not just its head."""
        page = self._page
        if of_tree - self._excluded and not page.is_json and not page.is_heavy:
            return True  # it is parsed anyway, and parsing cannot fail
        return has_links_in_body(page, wants_hyperlinks=self._wants_hyperlinks)

    def _needed(self) -> frozenset[str]:
        page = self._page
        needed: frozenset[str] = frozenset() if page.is_json else scan(page.lower)
        if self._custom and not page.is_json:
            needed |= {
                each.name
                for each in self._custom.values()
                if each.marker.encode() in page.lower
            }
        if self._rules:
            needed |= {Extractor.RULES}
        return needed if self._wanted is None else needed & self._wanted

    def _read_page_itself(self, *, is_full_page: bool) -> None:
        if not self._page.is_json:
            self._run("links", partial(self._find_links, is_full_page))
        for fault in self._page.faults.all():
            self._log.note(fault.reason, fault.detail, fault.count)

    def _find_links(self, is_full_page: bool) -> None:
        page = self._page
        if self.reservations.is_hinted:
            self.reservations.read(page.tree if is_full_page else page.head_tree)
        if self.reservations.are_against_links:
            return
        page.links |= links_of_page(
            page,
            wants_hyperlinks=self._wants_hyperlinks,
            log=self._log,
            is_full_page=is_full_page,
        )

    def _extract(self, extractor: str) -> Iterator[QuadLines]:
        """Run one extractor; keep its output before a failure."""
        if self._output.is_full:
            return
        before, log = self._output.n_quads, self._log.snapshot()
        if extractor in _READ_TWICE and len(self._page.data) <= MAX_EXTRUCT_BYTES:
            yield from self._read_twice(extractor)
        else:
            yield from self._read(extractor)
        if self._output.n_quads == before and extractor in _IN_TEMPLATES:
            yield from self._read_templates(extractor)
        if extractor in self.left:  # another process starts over
            self._log.restore(log)
        else:
            self.extracted[extractor] = self._output.n_quads - before

    def _read_templates(self, extractor: str) -> Iterator[QuadLines]:
        """Read the content of `template` elements, if a page has data only there.

        Browsers do not show it; scripts, and other readers, use it.
        """
        page = self._page
        if extractor in self.left or b"<template" not in page.lower:
            return
        before, log = self._output.n_quads, self._log.snapshot()
        self._page = page.without_templates()
        yield from self._read(extractor)
        self._page = page
        if self._output.n_quads == before:
            self._log.restore(log)
        else:
            detail = f"{extractor}: read in a template"
            self._log.note(Reason.REPAIRED, detail, apart=True)

    def _read_twice(self, extractor: str) -> Iterator[QuadLines]:
        """Read with extruct, too, if our extractor fails; keep the longer output."""
        mark, log = self._output.mark(), self._log.snapshot()
        was_partial = self.is_partial
        self._failure = None
        held = list(self._read(extractor))
        failure = self._failure
        if failure is None or failure.reason not in EXTRUCT_REASONS:
            yield from held
            return
        n_own = self._output.n_quads - mark.n_quads
        blocks = self._run(extractor, partial(self._blocks_of_extruct, extractor))
        is_better = sum(block.count(b"\n") for block in blocks or ()) > n_own
        if not (is_better or extractor in self.left):
            yield from held
            return
        self._output.rewind(mark, is_replay=False)
        self._log.restore(log)
        self.is_partial = was_partial
        if is_better:
            detail = f"{extractor}: read by extruct after: {failure.detail}"
            self._log.note(Reason.REPAIRED, detail, apart=True)
            yield from self._output.chunks(blocks or ())

    def _blocks_of_extruct(self, extractor: str) -> list[bytes]:
        from rdfcrawl.rdf.html.extruct_reading import read_with_extruct

        environment, log = self._environment, FaultLog()
        try:
            return list(read_with_extruct(self._page, extractor, environment, log))
        except (ValueError, SourceFault):
            return []  # the first fault stands

    def _read(self, extractor: str) -> Iterator[QuadLines]:
        found = self._run(extractor, partial(self._blocks, extractor))
        if found is None:
            return
        blocks, has_graphs = found
        chunks = iter(self._output.chunks(blocks, has_graphs=has_graphs))
        take = partial(next, chunks, None)
        while (chunk := self._run(extractor, take)) is not None:
            yield chunk

    def _blocks(self, extractor: str) -> tuple[Iterable[bytes], bool]:
        """Return checked lines of an extractor, and whether they may name graphs."""
        page, log = self._page, self._log
        if (custom := self._custom.get(extractor)) is not None:
            return iter_checked(custom.lines(page), log), True
        match Extractor(extractor):
            case Extractor.JSON_LD:
                from rdfcrawl.rdf.html.jsonld import extract_json_ld

                read = partial(extract_json_ld, page, self._environment, log)
                return self._complete(read), True
            case Extractor.SCRIPTS:
                from rdfcrawl.rdf.html.scripts import extract_scripts

                read = partial(
                    extract_scripts, page, self._environment, self._limits, log
                )
                return self._complete(read), True
            case Extractor.RDFA:
                from rdfcrawl.rdf.html.rdfa import extract_rdfa

                is_bounded = self._environment.is_bounded
                lines = extract_rdfa(page, log, is_bounded=is_bounded)
            case Extractor.MICROFORMATS:
                from rdfcrawl.rdf.html.microformats import extract_microformats

                is_bounded = self._environment.is_bounded
                lines = extract_microformats(page, log, is_bounded=is_bounded)
            case Extractor.RULES:
                from rdfcrawl.rdf.html.rules import scrape

                lines = scrape(page, self._rules, log)
            case other:
                module, name = _FUNCTIONS[other]
                lines = getattr(import_module(module), name)(page, log)
        return iter_checked(lines, log), False

    def _complete(self, read: Callable[[], Iterator[bytes]]) -> Iterable[bytes]:
        """Return all blocks, or raise `NeedsSandbox`: another process starts over."""
        if self._environment.is_bounded:
            return read()
        before, blocks, n_bytes = self._log.snapshot(), [], 0
        try:
            for block in read():
                blocks.append(block)
                n_bytes += len(block)
                if n_bytes > _MAX_HELD_BYTES:
                    self._environment.demand_bounds("many statements of one page")
        except NeedsSandbox:
            self._log.restore(before)
            raise
        return blocks

    def _run(self, what: str, step: Callable[[], T]) -> T | None:
        """Run one step of an extractor; return None on failure."""
        try:
            if self._timebox is None:
                return step()
            return self._timebox.run(what, step)
        except NeedsSandbox:
            if self._environment.is_bounded:
                self._fail(Reason.PARSE_CRASH, what, "requires a bounded process")
            else:
                self.left |= {what}
        except SourceFault as error:
            self._fail(error.fault.reason, what, error.fault.detail)
        except OutOfTime as error:
            self._fail(Reason.PARSE_SECS, what, str(error))
        except Exception as error:
            self.is_partial = True
            found = fault_of_exception(error, what, self._page.url)
            self._failure = found
            self._log.note(found.reason, found.detail, apart=True, part=found.part)
        return None

    def _fail(self, reason: Reason, what: str, detail: str) -> None:
        self.is_partial = True
        part = what if reason in OWN else ""
        self._failure = Fault(reason, detail)
        self._log.note(reason, f"{what}: {detail}", apart=True, part=part)


# Libraries swallow exceptions, so the timer raises repeatedly.
_REPEAT_SECS: Final = 0.05
_LEAST_SECS: Final = 0.001  # rounding to zero would disable the timer


class OutOfTime(BaseException):
    """The CPU time of an extractor is used up; not caught by `except Exception`."""


class TimeShares:
    """Division of `secs` of CPU time among extractors that run in turn.

    Each may use half of the remaining time, so that a slow one leaves some to the
    others. Main thread only; C code is interrupted when it returns.
    """

    def __init__(self, secs: float) -> None:
        self._left_secs = secs
        self._name = ""
        self._is_running = self._has_handler = False
        self._name_secs = self._name_left_secs = 0.0

    def run(self, name: str, step: Callable[[], T]) -> T:
        """Run a step of a named extractor; raise `OutOfTime` if no time is left."""
        if name != self._name:
            self._name, self._name_left_secs = name, self._left_secs / 2
            self._name_secs = self._name_left_secs
        if self._name_left_secs <= 0:
            raise self._out_of_time()
        began = time.process_time()
        if not self._has_handler:  # it stays, without a timer
            signal.signal(signal.SIGPROF, self._ring)
            self._has_handler = True
        secs = max(self._name_left_secs, _LEAST_SECS)
        signal.setitimer(signal.ITIMER_PROF, secs, _REPEAT_SECS)
        self._is_running = True
        try:
            try:
                return step()
            finally:
                self._is_running = False
        finally:
            self._is_running = False  # the timer may have fired in between
            signal.setitimer(signal.ITIMER_PROF, 0)
            used_secs = time.process_time() - began
            self._left_secs -= used_secs
            self._name_left_secs -= used_secs

    def _ring(self, *_: Any) -> None:
        if self._is_running:
            self._name_left_secs = 0.0  # the two clocks differ slightly
            raise self._out_of_time()

    def _out_of_time(self) -> OutOfTime:
        return OutOfTime(f"more than {self._name_secs:.1f} s")
