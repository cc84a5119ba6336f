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
        "rdfcrawl/guard",
        "gate policy twisted_names",
        (
            "tests/guard/test_guard.py",
            "tests/guard/test_resolver.py",
            "tests/guard/test_twisted_names.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/guard",
        "operator resolver",
        (
            "tests/guard/test_guard.py",
            "tests/guard/test_resolver.py",
            "tests/pings/test_judging.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/guard",
        "own_addresses",
        ("tests/guard/test_guard.py",),
    ),
    DefendedModule(
        "rdfcrawl/robots",
        "cache origin_memory tdm_cache",
        (
            "tests/robots/test_cache.py",
            "tests/robots/test_tdm_cache.py",
            "tests/robots/test_unread_robots.py",
            "tests/fetch/test_questions.py",
            "tests/robots/test_shared_rules.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/robots",
        "deaths packing parser paths policy signals tdm_file",
        (
            "tests/robots/test_parts.py",
            "tests/robots/test_rules.py",
            "tests/robots/test_octets.py",
            "tests/robots/test_policy.py",
            "tests/robots/test_cache.py",
            "tests/robots/test_shared_rules.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/page",
        "foreign form_token forms guarding listening options request_log rendering",
        (
            "tests/page/test_parts.py",
            "tests/page/test_guarding.py",
            "tests/page/test_hostile_requests.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/page",
        "query_rules query_child query_desk kept_answers child_jobs children",
        (
            "tests/page/test_parts.py",
            "tests/page/test_kept_answers.py",
            "tests/page/test_query.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/page",
        "event_streams kept_orders",
        (
            "tests/page/test_parts.py",
            "tests/page/test_kept_orders.py",
            "tests/page/test_hostile_requests.py",
            "tests/page/test_live.py",
        ),
    ),
    DefendedModule(
        "rdfcrawl/page",
        "report_desk",
        ("tests/page/test_report_view.py",),
    ),
    DefendedModule(
        "rdfcrawl/progress",
        "logformatter",
        ("tests/progress/test_logformatter.py", "tests/progress/test_json_logs.py"),
    ),
    DefendedModule(
        "rdfcrawl/pings",
        "intake judging server",
        ("tests/pings/test_judging.py", "tests/pings/test_server.py"),
    ),
    DefendedModule("rdfcrawl", "errors", ("tests/progress/test_logformatter.py",)),
    DefendedModule("rdfcrawl/page", "texts", ("tests/page/test_parts.py",)),
    DefendedModule("rdfcrawl", "small_server", ("tests/pings/test_server.py",)),
    DefendedModule(
        "rdfcrawl/extraction",
        "confinement system_calls",
        ("tests/extraction/test_denied.py", "tests/extraction/test_confinement.py"),
    ),
    DefendedModule(
        "rdfcrawl/extraction",
        "bounds child sandbox",
        (
            "tests/extraction/test_denied.py",
            "tests/extraction/test_sandbox.py",
            "tests/extraction/test_confinement.py",
        ),
    ),
)

TESTS: Final = {
    f"{room.folder}/{name}.py": room.tests
    for room in _ROOMS
    for name in room.names.split()
}
"""Files of tests by the path of a module."""

SCOPES: Final = {"rdfcrawl/errors.py": "_CONTROL", "rdfcrawl/page/texts.py": "HIDDEN"}
"""The only constant of a module that defends something."""
