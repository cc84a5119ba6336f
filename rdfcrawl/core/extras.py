"""Optional libraries: the extras of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rdfcrawl.core.errors import ConfigError, Reason, SourceFault


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'rdfcrawl[{extra}]'"


@contextmanager
def needed_by_operator(extra: str, what: str) -> Iterator[None]:
    """Raise `ConfigError` if a library for an option of the operator is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        _check_is_extra(error)
        message = f"{what}: {error.name} is missing: {install_hint(extra)}"
        raise ConfigError(message) from error


@contextmanager
def needed_by_document(extra: str) -> Iterator[None]:
    """Raise the fault `NOT_INSTALLED` of a document if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        _check_is_extra(error)
        raise SourceFault(Reason.NOT_INSTALLED, install_hint(extra)) from error


def _check_is_extra(error: ModuleNotFoundError) -> None:
    """Raise the error if the missing module is ours, and not of an extra."""
    if (error.name or "").partition(".")[0] == __name__.partition(".")[0]:
        raise error
