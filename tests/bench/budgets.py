"""The lines of the table of `make bench`, each with its unit and its budget.

A line without a budget is measured for comparison. Ratios are of CPU (user and system
time) of all processes, Redis included, and of both sides in the same minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.bench.figures import Figure


@dataclass(frozen=True, slots=True)
class Budget:
    """Unit of a line, and the value that it may not exceed or fall below.

    Attributes:
        unit: of the value, e.g. "x bare loop"; empty for a plain number.
        at_most: the greatest value allowed, if any.
        at_least: the least value allowed, if any.
    """

    unit: str
    at_most: float | None = None
    at_least: float | None = None


_PAGES: Final = "pages/s"
_PARSED: Final = "x parse, write, gzip"
_DUMPED: Final = "x bare parser"
_OTHERS: Final = "x fastest other program"
_WITHOUT: Final = "x without"
SECTIONS: Final[dict[str, dict[str, Budget]]] = {
    "crawl": {
        "small documents, 200 hosts": Budget("x aiohttp loop", at_most=1.5),
        "small documents, and the floor": Budget("x uvloop floor", at_most=7),
        "small documents, and LDSpider": Budget("x LDSpider", at_most=0.30),
        "robots.txt on": Budget(_WITHOUT),
        "two workers": Budget("x one worker", at_most=1.15),
        "10,000 hosts of 3 documents": Budget("x 200 hosts", at_most=1.6),
        "one host": Budget("x aiohttp loop"),
        "recall": Budget("", at_least=1),
        "memory of a worker": Budget("MB", at_most=150),
        "Redis, 200 hosts": Budget("us/document", at_most=18),
        "Redis, 10,000 hosts": Budget("us/document", at_most=40),
    },
    "documents": {
        "Turtle of 2 to 20 KB": Budget(_PARSED, at_most=1.5),
        "RDF/XML of 2 to 20 KB": Budget(_PARSED, at_most=1.6),
        "JSON-LD of 2 to 20 KB": Budget(_PARSED, at_most=2.0),
        "facts and links of Turtle": Budget(_WITHOUT, at_most=1.15),
        "facts and links of RDF/XML": Budget(_WITHOUT, at_most=1.15),
        "facts and links of JSON-LD": Budget(_WITHOUT, at_most=1.15),
    },
    "pages": {
        "HTML pages, plain": Budget(_PAGES, at_least=250),
        "HTML pages, JSON-LD": Budget(_PAGES, at_least=150),
        "HTML pages, Microdata": Budget(_PAGES, at_least=150),
        "HTML pages, RDFa": Budget(_PAGES, at_least=110),
        "HTML pages, mixed": Budget(_PAGES),
    },
    "dump": {
        "dump.nt.gz": Budget(_DUMPED, at_least=0.45),
        "dump.ttl.gz": Budget(_DUMPED, at_least=0.40),
        "dump.rdf.gz": Budget(_DUMPED, at_least=0.42),
        "dump.nq.gz": Budget(_DUMPED, at_least=0.40),
        "dump.hdt": Budget(_DUMPED),
        "dump.nt.zip": Budget(_DUMPED),
        "dump.nt.7z": Budget(_DUMPED),
        "dump.nt.gz, other programs": Budget(_OTHERS),
        "dump.ttl.gz, other programs": Budget(_OTHERS),
        "dump.rdf.gz, other programs": Budget(_OTHERS),
        "dump.nq.gz, other programs": Budget(_OTHERS),
        "dumps, memory of a process": Budget("MB", at_most=150),
    },
    "log": {
        "store verify": Budget("x store load", at_most=1),
        "report, the first": Budget("x crawl"),
        "report, nothing new": Budget("x crawl", at_most=0.1),
        "first query on 200,000 statements": Budget("s", at_most=3),
    },
    "start": {
        "scrapy list": Budget("s beyond Scrapy", at_most=0.25),
        "scrapy rdf FILE": Budget("s beyond Scrapy", at_most=0.3),
        "first request": Budget("s beyond Scrapy", at_most=0.4),
    },
    "memory": {
        "frontier, 1,000 hosts": Budget("B/URI", at_most=60),
        "frontier, 3 URIs a host": Budget("B/URI", at_most=150),
        "memory of a worker with a million seeds": Budget("MB", at_most=150),
    },
}
"""Benchmark to its lines, in the order of the table."""

BUDGETS: Final = {
    name: line for part in SECTIONS.values() for name, line in part.items()
}


def line(name: str, value: float, measured: str = "", yardstick: str = "") -> Figure:
    """Return a figure with the budget of its line.

    Args:
        name: of the line.
        value: the figure, in the unit of the line.
        measured: what was measured, with its unit; not needed if it is the value.
        yardstick: the same of the reference.

    Raises:
        KeyError: there is no such line.
    """
    budget = BUDGETS[name]
    return Figure(
        name,
        value,
        budget.unit,
        at_most=budget.at_most,
        at_least=budget.at_least,
        measured=measured,
        yardstick=yardstick,
    )
