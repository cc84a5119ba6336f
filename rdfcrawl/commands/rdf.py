"""`scrapy rdf`: show the content of a document: format, extractors, links, faults."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from scrapy import Spider
from scrapy.crawler import Crawler

from rdfcrawl.core.console import QuietCommand, fail, number, option
from rdfcrawl.core.errors import (
    ConfigError,
    Fault,
    Reason,
    SourceFault,
    needed_by_operator,
)
from rdfcrawl.core.messages import counted, escaped, raw_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings, Settings

    from rdfcrawl.core.records import Document
    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.pipelines.callbacks.inspection import (
        InspectionReport,
        InspectionRequest,
    )
    from rdfcrawl.rdf.extraction.messages import ExtractOutcome

_SHOWN_LINKS: Final = 20
_SHOWN_STATEMENTS: Final = 1000
_WRITTEN: Final = (".nq", ".nt", ".hdt")


class Command(QuietCommand):
    """Show the content of one document; exit code 0: statements, 1: none, 2: usage.

    `OWN_FAULT_EXIT_CODE`, if not 0: our own code failed.
    """

    requires_project = True
    synopsis = "[options] URL|FILE|-"
    summary = "Show the content of a document: format, statements, links, faults"
    options = (
        option("--rules", "PATH", "file or folder of scraping rules"),
        option(
            "--media-type", "TYPE", "use this media type, not the server's", default=""
        ),
        option("--base", "IRI", "use this as the URL of the document", default=""),
        option("--follow", "WORDS", "as `-a follow=`", default="abox"),
        number(
            "--limit",
            "N",
            f"limit of printed statements (default {_SHOWN_STATEMENTS})",
            least=0,
            default=_SHOWN_STATEMENTS,
        ),
        option("--to", "FILE", "write all to FILE: .nq, .nt or .hdt"),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Read the document and print its content."""
        if len(args) != 1:
            fail("rdf: name one URL or file, or - for standard input")
        request = _request(args[0], opts, cast("Settings", settings))
        from rdfcrawl.pipelines.callbacks.inspection import is_archive

        if is_archive(args[0]):
            from rdfcrawl.launch.archive_report import show_archive

            return show_archive(request, opts.limit, opts.to)
        if opts.to:
            inspection = _convert(request, Path(opts.to))
        else:
            inspection = _show(request, opts.limit)
        return _exit_code(inspection, settings)


def _request(
    target: str, opts: argparse.Namespace, settings: Settings
) -> InspectionRequest:
    from rdfcrawl.core.options.scrapy_settings import apply_defaults
    from rdfcrawl.downloader.crawler_clients import ftp_logins
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.robots.policy import RobotsSettings
    from rdfcrawl.downloader.scheme_fetcher import build_fetchers
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.pipelines.callbacks.inspection import InspectionRequest
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.rdf.links.policy import LinkPolicy

    apply_defaults(settings)
    if opts.rules:
        settings.set("SCRAPING_RULES", opts.rules, "cmdline")
    _check_base(opts.base)
    crawl = CrawlOptions.from_settings(settings, "rdf")
    extract = ExtractOptions.from_settings(settings, formats=crawl.formats)
    robots = RobotsSettings.from_settings(settings)
    fetch = FetchOptions.of(settings, crawl, extract.custom)
    return InspectionRequest(
        target=target,
        media_type=opts.media_type,
        base=opts.base,
        follow=LinkPolicy.parse(opts.follow),
        # A document named by the operator may be a dump, in spite of its URL.
        fetch=replace(
            fetch,
            max_document_bytes=fetch.max_dump_bytes,
            timeout_secs=fetch.dump_timeout_secs,
        ),
        robots_agent=robots.obeyed_agent,
        extract=extract,
        logins=ftp_logins(),
        reservation_policy=robots.policy,
        fetchers=build_fetchers(Crawler(Spider, settings), fetch.fetchers)
        if fetch.fetchers
        else {},
    )


def _check_base(base: str) -> None:
    """Exit with 2 and one line if a base is given that is no IRI."""
    from rdfcrawl.rdf.graphs import check_iri

    try:
        if base:
            check_iri(base)
    except SourceFault as error:
        fail(f"--base: {error}")


def _exit_code(inspection: InspectionReport, settings: BaseSettings) -> int:
    from rdfcrawl.launch.options import ExitCodes

    outcome = inspection.outcome
    faults = [*inspection.document.faults, *(outcome.faults if outcome else ())]
    own_code = ExitCodes.from_settings(settings).own_fault
    if own_code and any(fault.is_own for fault in faults):
        return own_code
    return 0 if outcome is not None and outcome.n_quads else 1


def _show(request: InspectionRequest, limit: int) -> InspectionReport:
    """Write the report to standard error and the statements to standard output."""
    from rdfcrawl.pipelines.callbacks.inspection import inspect
    from rdfcrawl.rdf.pretty import pretty

    shown = bytearray()
    left = limit

    def keep(chunk: bytes) -> None:
        nonlocal left
        n_lines = min(chunk.count(b"\n"), left)
        left -= n_lines
        shown.extend(b"".join(chunk.splitlines(keepends=True)[:n_lines]))

    inspection = asyncio.run(inspect(request, keep))
    printed = [*_rules(request, inspection), *report(inspection)]
    sys.stderr.write("".join(f"{line}\n" for line in printed))
    text = pretty(bytes(shown))
    if sys.stdout.isatty():
        sys.stderr.write("\n")
        raw_file(sys.stdout).write(_coloured(escaped(text)))
    else:
        sys.stdout.write(text)
    outcome = inspection.outcome
    if outcome is not None and outcome.n_quads > limit:
        more = (
            f"… {limit} of {counted(outcome.n_quads, 'statement')}; --limit shows more"
        )
        sys.stderr.write(f"{more}\n")
    return inspection


def _rules(request: InspectionRequest, inspection: InspectionReport) -> Iterator[str]:
    """Yield the scraping rules for the document as lines of text."""
    if not request.extract.rules:
        return
    from rdfcrawl.rdf.html.rules import rules_in

    rules = rules_in(request.extract.rules)
    for refusal in rules.refused:
        yield _row("rule", str(refusal))
    url = (request.base or inspection.document.url).partition("#")[0]
    names = ", ".join(rule.name for rule in rules.matching(url))
    yield _row("rules", names or f"none of {len(rules.rules)} is for {url}")


def _coloured(turtle: str) -> str:
    """Return text for a terminal: IRIs in blue, literals in green."""
    return re.sub(
        r'(<[^<>\s]*>)|("(?:[^"\\\n]|\\.)*")',
        lambda found: f"\x1b[{34 if found[1] else 32}m{found[0]}\x1b[0m",
        turtle,
    )


def _convert(request: InspectionRequest, target: Path) -> InspectionReport:
    """Write the statements to a file, and the report to standard error.

    Without a statement, the file stays as it is.
    """
    from rdfcrawl.pipelines.callbacks.inspection import inspect
    from rdfcrawl.stores.files import operator_file

    if target.suffix not in _WRITTEN:
        raise ConfigError(f"--to {target}: must end in {', '.join(_WRITTEN)}")
    with tempfile.TemporaryFile(dir=target.parent) as lines:
        inspection = asyncio.run(inspect(request, lines.write))
        unwritten = [f"{target}, as there are no statements"]
        if lines.tell():
            lines.seek(0)
            with operator_file(target) as out:
                base = request.base or inspection.document.url
                unwritten = _write_lines(lines, out, target, base)
    printed = [*_rules(request, inspection), *report(inspection)]
    printed += [_row("not written", what) for what in unwritten]
    sys.stderr.write("".join(f"{line}\n" for line in printed))
    return inspection


def _write_lines(lines: BinaryIO, out: BinaryIO, target: Path, base: str) -> list[str]:
    """Write N-Quads in the format of a file; return the losses."""
    if target.suffix == ".nq":
        shutil.copyfileobj(lines, out)
        return []
    from rdfcrawl.rdf.graphs import without_graph_names

    n_named = 0

    def triples() -> Iterator[bytes]:
        nonlocal n_named
        for block in _blocks(lines):
            kept, n_found = without_graph_names(block)
            n_named += n_found
            yield kept

    unwritten: list[str] = []
    if target.suffix == ".nt":
        out.writelines(triples())
    else:
        with needed_by_operator("hdt", f"--to {target}"):
            from rdfcrawl.rdf.hdt import write_hdt

        try:
            written = write_hdt(triples(), out, base=base)
        except SourceFault as error:
            raise ConfigError(f"--to {target}: {error}") from error
        unwritten = [_fault(fault) for fault in written.faults]
    if n_named:
        unwritten.append(
            f"the graph names of {counted(n_named, 'statement')}, which"
            f" {target.suffix} files do not have (.nq files do)"
        )
    return unwritten


def _blocks(lines: BinaryIO) -> Iterator[bytes]:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.text import iter_line_blocks

    return iter_line_blocks(lines.read, max_line_bytes=sys.maxsize, log=FaultLog())


def report(inspection: InspectionReport) -> list[str]:
    """Return the document and its outcome as lines of text."""
    document, outcome = inspection.document, inspection.outcome
    rows = [("document", document.url)]
    way = (*document.record.chain, *document.response.requested)[:-1]
    rows += [("redirected", url) for url in way]
    rows.append(("answer", _response_text(document)))
    faults = list(document.faults)
    if outcome is not None:
        rows += _reading(outcome)
        faults += outcome.faults
        rows += _reserved(outcome.reservations, inspection.withheld)
    rows += _links(inspection)
    rows += [("fault", _fault(fault)) for fault in faults]
    rows += [("hint", text) for text in _hints(inspection, faults)]
    return [_row(name, value) for name, value in rows]


def _row(name: str, value: str) -> str:
    return f"{name:12}{_printable(value)}"


def _response_text(document: Document) -> str:
    response = document.response
    kind = "; charset=".join(filter(None, (response.media_type, response.charset)))
    if not response.status:
        return (
            f"a file, {counted(response.n_bytes, 'byte')}" if response.path else "none"
        )
    return (
        f"{response.status} {kind or 'without Content-Type'},"
        f" {counted(response.n_bytes, 'byte')}"
    )


def _reading(outcome: ExtractOutcome) -> Iterator[tuple[str, str]]:
    from rdfcrawl.core.formats import HTML

    if outcome.packings:
        yield "packed in", ", ".join(outcome.packings)
    if outcome.format is not None:
        yield "read as", f"{outcome.format.name}, decided by {outcome.decided_by}"
    for member in outcome.members[:_SHOWN_LINKS]:
        read_as = member.format or "not read"
        yield (
            "member",
            f"{member.name}: {read_as}, {counted(member.n_quads, 'statement')}",
        )
    if outcome.n_members > _SHOWN_LINKS:
        yield "members", f"{outcome.n_members} in all"
    for extractor, n_quads in sorted(outcome.extracted.items()):
        yield "extractor", f"{extractor}: {counted(n_quads, 'statement')}"
    if outcome.format is HTML and not outcome.extracted:
        yield "extractor", "none: the page has no annotation"
    cut = " (read in part)" if outcome.is_partial else ""
    yield "statements", f"{outcome.n_quads}{cut}"


def _reserved(
    reservations: Reservations, withheld: Reason | None
) -> Iterator[tuple[str, str]]:
    found = list(reservations.directives)
    if reservations.tdm:
        found.append(f"tdm-reservation {reservations.tdm_policy}".strip())
    found += reservations.signals
    if found:
        yield "reserved", ", ".join(found)
    if withheld:
        yield "withheld", f"a crawl would not store the statements ({withheld})"


def _links(inspection: InspectionReport) -> Iterator[tuple[str, str]]:
    outcome = inspection.outcome
    relations = {link.url: link.relation for link in outcome.links} if outcome else {}
    followed = sorted(inspection.followed)
    yield "links", f"{len(followed)} would be followed"
    for url in followed[:_SHOWN_LINKS]:
        relation = relations.get(url)
        yield "link", f"{url} ({relation})" if relation else url
    if len(followed) > _SHOWN_LINKS:
        yield "link", f"… and {len(followed) - _SHOWN_LINKS} more"


def _hints(inspection: InspectionReport, faults: list[Fault]) -> Iterator[str]:
    """Yield why there are no statements or links, and what to type."""
    from rdfcrawl.launch.empty_advice import advice_for_document
    from rdfcrawl.rdf.html.empty_pages import EmptyPage

    outcome, status = inspection.outcome, inspection.document.status
    if outcome is None or not outcome.n_quads:
        why = [inspection.why_empty, *(str(fault.reason) for fault in faults)]
        if status in (401, 407):
            why = [EmptyPage.LOGIN]
        advice = filter(None, map(advice_for_document, why))
        yield from list(advice)[:1]
    if inspection.n_hyperlinks:
        n = counted(inspection.n_hyperlinks, "hyperlink is", "hyperlinks are")
        yield (
            f"{n} not followed: --follow abox,hyperlink shows them, and in a crawl"
            " -a follow=abox,hyperlink -a scope=host follows them"
        )
    elif inspection.n_unfollowed:
        n = counted(inspection.n_unfollowed, "other IRI is", "other IRIs are")
        yield f"{n} not followed: --follow all shows them, -a follow=all crawls them"


def _fault(fault: Fault) -> str:
    times = f" ({counted(fault.count, 'time')})" if fault.count > 1 else ""
    return f"{fault.reason}{times}" + (f": {fault.detail}" if fault.detail else "")


def _printable(text: str) -> str:
    """Return text of the web with control characters escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
