"""Ask for the contact of a crawl on a terminal, once for all crawls of a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.pipelines.contact import is_contact, keep_contact

_TRIES: Final = 3
_QUESTION: Final = """\
Sites that are crawled should know whom they can write to.
Your mail address, or the URL of a page about the crawl: """


def ask_contact(path: Path) -> bool:
    """Ask for a contact and keep it; return whether there is one.

    Nothing is asked unless both standard input and standard error are a terminal.

    Args:
        path: of the file that keeps it.

    Raises:
        ConfigError: the file cannot be written.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for _ in range(_TRIES):
        sys.stderr.write(_QUESTION)
        sys.stderr.flush()
        answer = sys.stdin.readline(1000).strip()
        if not answer:
            return False
        if is_contact(answer):
            try:
                keep_contact(path, answer)
            except OSError as error:
                raise ConfigError(f"{path}: cannot be written: {error}") from error
            sys.stderr.write(f"Kept in {path}, for all crawls of this folder.\n")
            return True
        sys.stderr.write(f"{answer[:100]!a} is neither.\n")
    return False
