"""`scrapy export`: the stored statements of a crawl, as files for other programs."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from rdfcrawl.core.console import (
    QuietCommand,
    close_output,
    fail,
    number,
    option,
    program,
    switch,
    warn,
)
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted, raw_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import FrameType

    from rdfcrawl.launch.options import CrawlDescribing
    from rdfcrawl.rdf.items.building import ItemRule
    from rdfcrawl.stores.export.exporting import ExportReport
    from rdfcrawl.stores.export.plan import ExportPlan
    from rdfcrawl.stores.log.crawl_log import CrawlLog

_PROGRESS_SECS: Final = 1.0
_LIST: Final[dict[str, Any]] = {"action": "append", "default": []}


class Command(QuietCommand):
    """Write the latest versions of documents to a file, or to several."""

    synopsis = "[options] --to FILE|DIR/|- | --describe [FILE]"
    summary = "Write the stored statements of a crawl to files"
    options = (
        option("-o --to", "FILE|DIR/|-", "target; -: standard output"),
        option(
            "--format",
            "NAME",
            "nq, nt, trig, ttl, rdf, jsonld; jl, json, csv: items; .gz, .zst; hdt,"
            " parquet",
        ),
        option(
            "--rdf",
            "VERSION",
            "1.1: without triple terms and base directions; 1.2 (default)",
        ),
        option(
            "--triple-terms",
            "reify|omit",
            "with --rdf 1.1: as RDF reification, or left out",
        ),
        option("--since", "TIME", "only versions fetched then or later, as 2026-09-21"),
        option(
            "--class",
            "CLASS,...",
            "of the items in .jl, .json or .csv, as schema:Product",
        ),
        option("--shard-size", "SIZE", "of the files of a folder (256M)"),
        option("--memory", "SIZE", "to sort HDT (256M)"),
        option("--scratch", "DIR", "folder of temporary files (that of the target)"),
        option(
            "--graphs",
            "IRI",
            "only statements in this graph; * is any text; repeatable",
            **_LIST,
        ),
        option(
            "--hosts",
            "HOST,...",
            "only documents of these hosts, as *.example.org",
            **_LIST,
        ),
        number("--shards", "N", "number of files"),
        number(
            "--across",
            "N",
            "nest nodes of items from up to N other documents in a chain (0)",
        ),
        option(
            "--describe",
            "FILE",
            "describe the crawl in VoID and DCAT, in FILE or the crawl's folder",
            nargs="?",
            const="",
        ),
        switch("--by-host", "a file for each host"),
        switch("--nested", "with items that are nested in other items of the class"),
        switch("--lists", "each value of an item is a list"),
        switch("--full", "literals of items with their language and datatype"),
        switch("--latest", "the latest version of each document (default)"),
        switch("--all-versions", "all versions of each document that are in the log"),
        switch("--descriptions", "with descriptions of SPARQL endpoints by themselves"),
        switch("--provenance", "the provenance of the crawl, and no document"),
    )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Export; exit with 2 on wrong usage, with 1 on errors of a disk."""
        if args or not (opts.to or opts.describe is not None):
            fail("export: give a target: --to FILE, --to DIR/ or --to -")
        if self.settings is None:
            return
        from rdfcrawl.downloader.options import FetchOptions
        from rdfcrawl.launch.options import CrawlDescribing
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.log.crawl_log import CrawlLog
        from rdfcrawl.stores.options import StoreOptions
        from rdfcrawl.stores.segment_file import TornMember

        signal.signal(signal.SIGTERM, _interrupt)
        # Damage of the log is printed at the end; without a handler, it would be
        # printed twice.
        logging.getLogger("rdfcrawl").addHandler(logging.NullHandler())
        try:
            describing = CrawlDescribing.from_settings(self.settings).by(
                FetchOptions.one(self.settings, "user_agent")
            )
            log = CrawlLog(find_crawl(self.settings))
            is_once = StoreOptions.one(self.settings, "is_once")
            _export(log, opts, describing, is_once=is_once)
            self.exitcode = _print_damages(log)
        except ConfigError as error:
            fail(str(error))
        except BrokenPipeError:
            self.exitcode = _closed()
            return
        except (OSError, TornMember) as error:
            warn(f"export: {_error_text(error, opts)}")
            self.exitcode = 1
            return
        except KeyboardInterrupt:
            _end_interrupted()


def _export(
    log: CrawlLog,
    opts: argparse.Namespace,
    describing: CrawlDescribing,
    *,
    is_once: bool,
) -> None:
    """Export statements, a description, or both."""
    from rdfcrawl.stores.export.exporting import export

    if opts.describe is not None:
        _check_describe(opts)
    plan = report = None
    if opts.to:
        plan = _plan(opts, is_once=is_once)
        report = export(log, plan, _progress())
        if sys.stderr.isatty():
            raw_file(sys.stderr).write("\r")
    if opts.describe is not None:
        _describe(log, opts, describing, plan, report)
    if plan is None or report is None:
        return
    try:
        _print_summary(report, plan)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe
        close_output()


def _print_damages(log: CrawlLog) -> int:
    """Print damage of the log; return 1 if there is any."""
    warn(*(f"export: {damage}" for damage in log.damages))
    return int(bool(log.damages))


def _check_describe(opts: argparse.Namespace) -> None:
    """Refuse options that a description cannot follow.

    Raises:
        ConfigError: one of them is given.
    """
    if opts.describe == "-":
        raise ConfigError("--describe -: name a file")
    if opts.hosts or opts.graphs or opts.since is not None or opts.all_versions:
        raise ConfigError(
            "--describe is about the latest version of all documents: leave out"
            " --hosts, --graphs, --since and --all-versions"
        )


def _describe(
    log: CrawlLog,
    opts: argparse.Namespace,
    describing: CrawlDescribing,
    plan: ExportPlan | None,
    report: ExportReport | None,
) -> None:
    """Write the description to a file, or to two in the folder of the crawl."""
    from rdfcrawl.analysis.description.writing import (
        described_files,
        write_descriptions,
    )

    name = opts.describe
    target = Path(name).expanduser().absolute() if name else None
    files = None
    if plan is not None and report is not None and plan.target is not None:
        files = described_files(report, plan, target or log.root / "void.ttl")
    scratch = Path(opts.scratch or (target.parent if target else log.root))
    options = describing.options(log.root)._replace(scratch=scratch.expanduser())
    # Standard output may contain the statements.
    output = sys.stderr if opts.to == "-" else sys.stdout
    for path in write_descriptions(log, options, target, files):
        output.write(f"description: {shlex.quote(str(path))}\n")


def _plan(opts: argparse.Namespace, *, is_once: bool) -> ExportPlan:
    from rdfcrawl.stores.export.plan import (
        ExportPlan,
        parse_bytes,
        parse_rdf,
        parse_shards,
    )
    from rdfcrawl.stores.export.selection import (
        DocumentSelection,
        parse_hosts,
        parse_since,
    )

    if opts.latest and opts.all_versions:
        raise ConfigError("give one of --latest and --all-versions")
    if opts.provenance and _selects_documents(opts):
        raise ConfigError(
            "--provenance is about all documents: leave out --hosts, --graphs, --since,"
            " --latest, --all-versions, --descriptions and --by-host"
        )
    return ExportPlan.of(
        opts.to,
        format_name=opts.format,
        shard_rule=parse_shards(opts.shard_size, opts.shards, by_host=opts.by_host),
        selection=DocumentSelection(
            hosts=parse_hosts(opts.hosts),
            graphs=tuple(opts.graphs),
            since_ms=0 if opts.since is None else parse_since(opts.since),
            has_all_versions=opts.all_versions,
            has_descriptions=opts.descriptions,
            is_once=is_once,
            is_provenance=opts.provenance,
        ),
        items=_item_rule(opts),
        memory_bytes=parse_bytes(
            "256M" if opts.memory is None else opts.memory, "--memory"
        ),
        scratch=opts.scratch,
        rdf=parse_rdf(opts.rdf, opts.triple_terms),
    )


def _selects_documents(opts: argparse.Namespace) -> bool:
    names = "hosts", "graphs", "latest", "all_versions", "descriptions", "by_host"
    return opts.since is not None or any(getattr(opts, name) for name in names)


def _item_rule(opts: argparse.Namespace) -> ItemRule | None:
    """Return the rule for items; None if no option is about them."""
    from rdfcrawl.rdf.items.building import MAX_DEPTH, ItemRule
    from rdfcrawl.rdf.items.names import ALL, class_iris

    names = getattr(opts, "class")
    across = opts.across or 0
    if not 0 <= across <= MAX_DEPTH:
        raise ConfigError(f"--across {across}: must be 0 to {MAX_DEPTH}")
    is_asked = names is not None or opts.nested or opts.lists or opts.full or across
    if not is_asked:
        return None
    return ItemRule(
        classes=class_iris(names or ALL),
        nested=opts.nested,
        lists=opts.lists,
        full=opts.full,
        across=across,
    )


def _progress() -> Callable[[int], None]:
    """Return a function that shows progress on a terminal, at most once a second."""
    if not sys.stderr.isatty():
        return lambda _: None
    shown = time.monotonic()

    def show(n_documents: int) -> None:
        nonlocal shown
        if time.monotonic() > shown + _PROGRESS_SECS:
            shown = time.monotonic()
            raw_file(sys.stderr).write(f"\r{counted(n_documents, 'document')} ")
            sys.stderr.flush()

    return show


def _print_summary(report: ExportReport, plan: ExportPlan) -> None:
    """Print the result, and how to load it."""
    documents, quads = report.n_documents, report.n_quads
    unit = "item" if plan.format.is_of_items else "statement"
    what = f"{counted(documents, 'document')}, {counted(quads, unit)}"
    for reason, n in sorted(report.left_out.items()):
        statements = counted(n, "statement")
        warn(f"export: {statements} {reason} left out of {plan.format.name}")
    chosen = _chosen(plan)
    if chosen and not documents:
        warn(f"export: no statement matches: change or leave out {chosen}")
    elif plan.format.is_of_items and not quads:
        query = "'SELECT ?class (COUNT(*) AS ?n) { ?s a ?class } GROUP BY ?class'"
        command = f"{program()} query {query}"
        warn(f"export: no item of this class; `{command}` lists the classes")
    for reason, n in sorted(report.cut.items()):
        warn(f"export: {counted(n, 'item')} cut: {reason} (`@fault`)")
    if plan.target is None:
        sys.stderr.write(f"{what}, {counted(report.n_bytes, 'byte')}\n")
        return
    sys.stdout.write(
        f"{what} in {counted(len(report.files), 'file')},"
        f" {counted(report.n_bytes, 'byte')}:"
        f" {shlex.quote(str(plan.target))}\n"
    )
    if documents and not plan.format.is_of_items:
        folder = plan.target if plan.shards else plan.target.parent
        _print_loaders(report, plan, folder)


def _chosen(plan: ExportPlan) -> str:
    """Return the options that limit an export; empty if none does."""
    chosen = plan.selection
    hosts, graphs = ("--hosts", chosen.hosts), ("--graphs", chosen.graphs)
    given = hosts, graphs, ("--since", chosen.since_ms)
    return ", ".join(name for name, value in given if value)


def _print_loaders(report: ExportReport, plan: ExportPlan, folder: Path) -> None:
    """Print how to load the files into stores."""
    from rdfcrawl.stores.export.loaders import RDF_11_ONLY, loader_commands

    names = [file.name for file in report.files]
    commands = list(loader_commands(folder, names, plan.format))
    older = [store for store, command in commands if command and store in RDF_11_ONLY]
    if report.n_rdf_12 and older and plan.format.name != "rdf":
        warn(
            f"export: {', '.join(older)} cannot read"
            f" {counted(report.n_rdf_12, 'statement')} with a triple term or a base"
            " direction: export with --rdf 1.1"
        )
    for store, command in commands:
        if command:
            sys.stdout.write(f"\n# {store}\n{command}\n")
    cannot = [store for store, command in commands if not command]
    if cannot:
        sys.stdout.write(f"\n# not read by {', '.join(cannot)}\n")


def _error_text(error: Exception, opts: argparse.Namespace) -> str:
    """Return the text of an error; errors of temporary files have no path."""
    if isinstance(error, OSError) and error.strerror:
        places = filter(None, (opts.scratch, opts.to or opts.describe))
        where = error.filename or " or ".join(places) or "the disk"
        return f"{where}: {error.strerror}; the export was cancelled"
    return f"{error}; the export was cancelled"


def _closed() -> int:
    """Report that the reader of standard output has gone, and stop writing."""
    close_output()
    warn("export: standard output was closed")
    return 1


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _end_interrupted() -> NoReturn:
    """Report that nothing was written, and end as by the signal."""
    warn("export: interrupted; the export was cancelled")
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    raise SystemExit(1)
