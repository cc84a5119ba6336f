"""`scrapy dataweb`: serve a synthetic Data Web, and measure a crawl of it."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.console import (
    QuietCommand,
    fail,
    number,
    option,
    program,
    write_lines,
)
from rdfcrawl.core.errors import ConfigError, needed_by_operator
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    import argparse

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.server import ServedHere

_LIBRARIES = ("numpy", "py7zr", "pyftpdlib")  # of the extra, imported by some nodes

# Option, field of WebConfig, type, help.
_OPTIONS: tuple[tuple[str, str, Any, str], ...] = (
    ("--nodes", "n_nodes", int, "number of hosts"),
    ("--degree", "degree", int, "mean number of links of a node"),
    ("--triples", "triples", int, "triples of one node"),
    ("--rdf-degree", "rdf_degree", int, "mean number of triples of a resource"),
    ("--weights", "weights", str, "kinds of nodes, as deref=21,ckan=5 (0 if absent)"),
    ("--seed", "seed", int, "of all random choices"),
    ("--generation", "generation", int, "how often the web has changed"),
    ("--port", "port", int, "the same on all hosts; 0 chooses a free one"),
    ("--address", "first_address", str, "loopback address of the first host"),
    ("--delay", "delay_secs", float, "Crawl-delay of dereferencing nodes, seconds"),
    ("--disallowed", "disallowed", float, "ratio of disallowed resources"),
    ("--compressed", "compressed", float, "ratio of compressed dumps"),
    ("--rdfa-dir", "rdfa_dir", str, "unpacked RDFa test suite to serve"),
    ("--latency-ms", "latency_ms", float, "delay of every response"),
    (
        "--speed",
        "speed",
        float,
        "speed of the time of evolving nodes, as a factor of ours",
    ),
    ("--begin", "begin", str, "start date of their time"),
    ("--horizon", "horizon_days", float, "days of it in history.jsonl"),
    ("--mirrors", "n_mirrors", int, "number of evolving nodes that mirror another"),
)


class Command(QuietCommand):
    """Serve a synthetic Data Web, or compare a crawl's output with its truth."""

    synopsis = (
        "serve [options] | advance [options] DIR | recall [options] TRUTH OUTPUT..."
    )
    summary = "Serve a synthetic Data Web, or measure a crawl of it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the actions and their options."""
        super().add_options(parser)
        actions = parser.add_subparsers(
            dest="action",
            metavar="serve | advance | recall",
            prog=f"{program()} dataweb",
        )
        _add_serve_options(
            actions.add_parser("serve", help="serve a web until Ctrl-C is pressed")
        )
        advance = actions.add_parser("advance", help="advance the time of a web")
        advance.add_argument("dir", metavar="DIR", help="folder of the web")
        number(
            "--days",
            "DAYS",
            "how far (default: 1)",
            least=0,
            is_whole=False,
            default=1.0,
        )(advance)
        recall = actions.add_parser("recall", help="compare a crawl with the truth")
        recall.add_argument("truth", metavar="TRUTH", help="truth.nq of the web")
        recall.add_argument(
            "outputs",
            nargs="+",
            metavar="OUTPUT",
            help="N-Quads or N-Triples: files (.gz too), folders, glob patterns",
        )
        number(
            "--min",
            "MIN",
            "recall for exit code 0",
            least=0,
            most=1,
            is_whole=False,
            default=1.0,
        )(recall)
        recall.add_argument(
            "-v", "--verbose", action="store_true", help="list missing statements"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the action; the exit code is 2 on errors."""
        if args:
            fail(f"dataweb: unknown arguments: {' '.join(args)}")
        try:
            with needed_by_operator("dataweb", "the synthetic web"):
                if opts.action == "serve":
                    self._serve(opts)
                elif opts.action == "advance":
                    self._advance(opts)
                elif opts.action == "recall":
                    self._recall(opts)
                else:
                    fail("dataweb: choose serve, advance or recall")
        except ConfigError as error:
            fail(f"dataweb: {error}")

    def _serve(self, opts: argparse.Namespace) -> None:
        from rdfcrawl.dataweb.process import LOG_NAME, serve_until_stopped
        from rdfcrawl.dataweb.reports import format_log

        for library in _LIBRARIES:  # a node would notice only at its first request
            if find_spec(library) is None:
                raise ModuleNotFoundError(name=library)
        directory = Path(opts.dir)
        log = serve_until_stopped(
            make_config(opts), directory, on_start=lambda s: _report_start(s, directory)
        )
        write_lines(format_log(log), f"log: {directory / LOG_NAME}")

    def _advance(self, opts: argparse.Namespace) -> None:
        from rdfcrawl.dataweb.evolution.clock import CLOCK_NAME, WebClock
        from rdfcrawl.dataweb.evolution.draws import DAY_SECS

        path = Path(opts.dir) / CLOCK_NAME
        if not path.exists():
            raise ConfigError(
                f"{opts.dir} is not the folder of a web: it has no {path.name}"
            )
        now = WebClock(path).advance(opts.days * DAY_SECS)
        write_lines(f"time of the web: {now / DAY_SECS:.15g} days")

    def _recall(self, opts: argparse.Namespace) -> None:
        from rdfcrawl.dataweb.recall import judge
        from rdfcrawl.dataweb.reports import format_recall

        report = judge(Path(opts.truth), opts.outputs)
        write_lines(*format_recall(report, is_verbose=opts.verbose))
        self.exitcode = int(report.micro < opts.min)


def make_config(opts: argparse.Namespace) -> WebConfig:
    """Return the parameters of a web: defaults, then the experiment, then options."""
    from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig, parse_weights
    from rdfcrawl.dataweb.sources import parse_sources

    values = dict(EXPERIMENTS[opts.experiment]) if opts.experiment else {}
    given = {
        one.name: getattr(opts, one.name)
        for one in fields(WebConfig)
        if getattr(opts, one.name, None) is not None
    }
    if "weights" in given:
        given["weights"] = parse_weights(given["weights"])
    if "sources" in given:
        given["sources"] = parse_sources(given["sources"])
    if opts.compressions is not None:
        given["profile"] = opts.compressions
    return WebConfig(**values | given)


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    from rdfcrawl.dataweb.config import EXPERIMENTS, DumpProfile, WebConfig

    defaults = WebConfig()
    for flag, name, kind, meaning in _OPTIONS:
        default = "ORCA's, all equal" if name == "weights" else getattr(defaults, name)
        words = flag, flag.strip("-").upper(), f"{meaning} (default: {default})"
        if kind is str:
            declare = option(*words, dest=name)
        else:
            declare = number(*words, is_whole=kind is int, dest=name)
        declare(parser)
    parser.add_argument(
        "--profile",
        dest="compressions",  # `profile` is Scrapy's own
        choices=list(map(str, DumpProfile)),
        help="formats of dumps: ORCA's of 2020 (gz, bz2, zip) or 2021 (tar, tar.gz,"
        " zip), or every serialization with every compression, one after another, and"
        " further kinds of nodes",
    )
    parser.add_argument(
        "--source",
        dest="sources",
        action="append",
        metavar="KIND.OPTION=VALUE",
        help="of the nodes of the extended profile, as portal.n_datasets=20000;"
        " repeatable",
    )
    number(
        "--experiment",
        None,
        "the web of an experiment of the Squirrel paper",
        choices=sorted(EXPERIMENTS),
    )(parser)
    parser.add_argument(
        "--dir", default="dataweb", help="folder for seeds, truth, log (dataweb)"
    )


def _report_start(served: ServedHere, directory: Path) -> None:
    from rdfcrawl.dataweb.process import NETWORK, SEEDS_NAME, TRUTH_NAME

    web = served.web
    hosts = counted(len(web.nodes), "host accepts", "hosts accept")
    write_lines(
        f"{hosts} connections at port {web.config.port},"
        f" {web.nodes[0].plan.address} is the first",
        f"seeds: {directory / SEEDS_NAME}",
        f"truth: {directory / TRUTH_NAME}",
        f"a crawl of it needs -s GUARD_ALLOW_NETS={NETWORK}",
        "press Ctrl-C to stop",
    )
