"""Modules that defend something, and the tests that notice each part of them."""

from __future__ import annotations

from typing import Final, NamedTuple


class DefendedModule(NamedTuple):
    """Modules, and the files of tests that cover them, the fastest first."""

    folder: str
    names: str
    tests: tuple[str, ...]


_ROOMS: Final = (
    DefendedModule(
        "rdfcrawl/uri/guard",
        "gate policy twisted_names",
        (
            "tests/uri/guard/test_guard.py",
            "tests/uri/guard/test_own_addresses.py",
            "tests/uri/guard/test_connections.py",
            "tests/uri/guard/test_resolver.py",
            "tests/uri/guard/test_twisted_names.py",
            "tests/uri/guard/test_operator.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/uri/guard",
        "resolver",
        (
            "tests/uri/guard/test_connections.py",
            "tests/uri/guard/test_resolver.py",
            "tests/monitor/pings/test_judging.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/downloader/robots",
        "cache storage tdm",
        (
            "tests/downloader/robots/test_cache.py",
            "tests/downloader/robots/test_tdm_cache.py",
            "tests/downloader/robots/test_unread_robots.py",
            "tests/downloader/test_questions.py",
            "tests/downloader/robots/test_shared_rules.py",
            "tests/downloader/robots/test_parts.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/downloader/robots",
        "parser policy",
        (
            "tests/downloader/robots/test_parts.py",
            "tests/downloader/robots/test_rules.py",
            "tests/downloader/robots/test_octets.py",
            "tests/downloader/robots/test_policy.py",
            "tests/downloader/robots/test_cache.py",
            "tests/downloader/robots/test_shared_rules.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/monitor/page",
        "guarding options rendering",
        (
            "tests/monitor/page/test_parts.py",
            "tests/monitor/page/test_guarding.py",
            "tests/monitor/page/test_hostile_requests.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/monitor/page",
        "query_rules query_child query_service child_jobs children",
        (
            "tests/monitor/page/test_parts.py",
            "tests/monitor/page/test_kept_answers.py",
            "tests/monitor/page/test_query.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/monitor/page",
        "event_streams kept_orders",
        (
            "tests/monitor/page/test_parts.py",
            "tests/monitor/page/test_kept_orders.py",
            "tests/monitor/page/test_hostile_requests.py",
            "tests/monitor/page/test_live.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/monitor/page",
        "report_service",
        ("tests/monitor/page/test_report_view.py",),
    ),
    DefendedModule(
        "rdfcrawl/launch",
        "scrapy_classes",
        (
            "tests/launch/test_logformatter.py",
            "tests/launch/test_json_logs.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/monitor/pings",
        "judging server",
        ("tests/monitor/pings/test_judging.py", "tests/monitor/pings/test_server.py"),
    ),
    DefendedModule("rdfcrawl/core", "errors", ("tests/launch/test_logformatter.py",)),
    DefendedModule(
        "rdfcrawl/monitor/page", "texts", ("tests/monitor/page/test_parts.py",)
    ),
    DefendedModule(
        "rdfcrawl/core", "small_server", ("tests/monitor/pings/test_server.py",)
    ),
    DefendedModule(
        "rdfcrawl/rdf/extraction",
        "confinement",
        (
            "tests/rdf/extraction/test_denied.py",
            "tests/rdf/extraction/test_confinement.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/rdf/extraction",
        "child sandbox",
        (
            "tests/rdf/extraction/test_denied.py",
            "tests/rdf/extraction/test_sandbox.py",
            "tests/rdf/extraction/test_confinement.py",
        ),
    ),
)

TESTS: Final = {
    f"{room.folder}/{name}.py": room.tests
    for room in _ROOMS
    for name in room.names.split()
}
"""Files of tests by the path of a module."""

SCOPES: Final = {
    "rdfcrawl/core/errors.py": "_CONTROL",
    "rdfcrawl/monitor/page/texts.py": "HIDDEN",
}
"""The only constant of a module that defends something."""
