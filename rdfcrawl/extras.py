"""Optional libraries, which few crawls need: the extras of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rdfcrawl.errors import ConfigError, Reason, SourceFault


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'rdfcrawl[{extra}]'"


@contextmanager
def needed_by_operator(extra: str, what: str) -> Iterator[None]:
    """Raise `ConfigError` if a library is missing for what the operator wants."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{what}: {error.name} is missing: {install_hint(extra)}"
        raise ConfigError(message) from error


@contextmanager
def needed_by_document(extra: str) -> Iterator[None]:
    """Raise the fault `NOT_INSTALLED` of a document if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SourceFault(Reason.NOT_INSTALLED, install_hint(extra)) from error
