"""Files with the same data in several formats, recognized by their names.

Of all.nt.gz, all.ttl and all.rdf, the first is read; the others only if it fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from rdfcrawl.sources.access import AccessMethod, DatasetAccess, NamedDistribution

# Best first: fast to read, and without loss.
_FORMATS: Final = (
    "nq", "nquads", "nt", "ntriples", "ttl", "turtle", "trig", "rdf", "owl", "xml",
    "rdfxml", "n3", "jsonld", "hdt", "trix", "rj", "json", "html",
)  # fmt: skip
_PACKED: Final = frozenset({"gz", "bz2", "xz", "zst", "br", "zip", "7z", "tgz", "tar"})
_RANKS: Final = {name: rank for rank, name in enumerate(_FORMATS)}
_WORST: Final = len(_FORMATS)
_parameter = re.compile(r"(?i:(?<=[?&])(?:_?format|output|f)=([^&#]*))").search


def group_alternatives(urls: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the URLs in groups with the same data, the best of each group first.

    URLs of the same data differ only in format and packing: in the end of the path,
    or in a parameter `format` or `output`.

    >>> group_alternatives(["http://a/x.rdf", "http://a/x.nt.gz", "http://a/y.nt"])
    (('http://a/x.nt.gz', 'http://a/x.rdf'), ('http://a/y.nt',))
    """
    groups: dict[str, dict[str, tuple[int, int]]] = {}
    for url in urls:
        stem, rank = _split(url)
        groups.setdefault(stem, {})[url] = rank
    return tuple(
        tuple(sorted(group, key=group.__getitem__)) for group in groups.values()
    )


def ways_by_dataset(
    named: Iterable[NamedDistribution],
) -> dict[str, tuple[DatasetAccess, ...]]:
    """Return the access methods of each dataset, in the order to try.

    All dumps of a dataset count as parts of it, the usual case. Dumps that differ only
    in format are mirrors of one part.

    Source: Semantic Sitemaps section 2.2 (dumps before endpoints).
    """
    urls: dict[str, dict[AccessMethod, dict[str, None]]] = {}
    for each in named:
        urls.setdefault(each.dataset, {}).setdefault(each.way, {})[each.url] = None
    ways = {}
    for dataset, of_way in urls.items():
        found = []
        if dumps := of_way.get(AccessMethod.DUMP):
            found.append(DatasetAccess(AccessMethod.DUMP, group_alternatives(dumps)))
        if endpoints := of_way.get(AccessMethod.SPARQL):
            found.append(DatasetAccess(AccessMethod.SPARQL, (tuple(endpoints),)))
        ways[dataset] = tuple(found)
    return ways


def _split(url: str) -> tuple[str, tuple[int, int]]:
    """Return the part of a URL that alternatives share, and its rank among them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, (_WORST, 0)
    folder, slash, name = parts.path.rpartition("/")
    words = name.split(".")
    n_packed = 0
    while len(words) > 1 and words[-1].lower() in _PACKED:
        words.pop()
        n_packed += 1
    rank = _WORST
    if len(words) > 1 and words[-1].lower() in _RANKS:
        rank = _RANKS[words.pop().lower()]
    query = parts.query
    if found := _parameter(f"?{query}"):
        word = found[1].lower().rpartition("%2f")[2].rpartition("/")[2]
        rank = min(rank, _RANKS.get(word, _WORST))
        query = query.replace(found[0], "", 1)
    stem = f"{parts.scheme}://{parts.netloc}{folder}{slash}{'.'.join(words)}?{query}"
    return stem, (rank, -n_packed)
