"""Numeric options of commands: any other word is an error of one line."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = sorted(name for name, where in COMMANDS.items() if "rdfcrawl" in where)


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield all options of a command, and of its actions."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from actions(each)


@pytest.mark.parametrize("name", OURS)
def test_bad_number_is_reported_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If an option wants a number, then no other word and no infinite one is taken."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    command = import_module(f"{COMMANDS[name]}.{name}").Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    for action in actions(parser):
        assert action.type not in (int, float), action.option_strings
        if not callable(action.type):
            continue
        for word in ("nan", "inf", "-1e999", "x", ""):
            with pytest.raises(SystemExit) as exit_:
                action.type(word)
            assert exit_.value.code == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"{action.option_strings[0]} {word}: must be" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--limit", "-1"], "--limit -1: must be 0 or more"),
        (["--timeout", "-0.5"], "--timeout -0.5: must be 0 to 31536000"),
    ],
)
def test_number_out_of_range_is_reported_with_its_bounds(
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If a number is too small or too large, then the line names the limits."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    command = import_module("rdfcrawl.commands.query").Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert told in capsys.readouterr().err
