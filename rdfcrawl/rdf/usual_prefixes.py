"""Namespaces of well-known prefixes, for documents that do not declare them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from rdfcrawl.core.namespaces import DC
from rdfcrawl.rdf.data import read_table


@cache
def usual_prefixes() -> Mapping[str, str]:
    """Return the namespaces by prefix: those of RDFa's initial context.

    `dc` means the elements of Dublin Core as on prefix.cc; RDFa has its terms there.
    """
    prefixes: Mapping[str, str] = read_table("rdfa_context")["prefixes"]
    return MappingProxyType({**prefixes, "dc": DC})
