"""Tests of `rdfcrawl.frontier.arguments`."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.frontier.arguments.crawl import CrawlArguments, inlined
from rdfcrawl.frontier.arguments.seeds import (
    BadSeed,
    Seed,
    iter_seeds,
    iter_typed_seeds,
)
from rdfcrawl.rdf.links.policy import LinkPolicy, LinkPosition
from rdfcrawl.uri.link_filter import CrawlExtent

if TYPE_CHECKING:
    from pathlib import Path


def seeds_of(text: str) -> list[str | BadSeed]:
    """Return the seeds of an argument `seeds`."""
    return list(iter_seeds(CrawlArguments.parse({"seeds": text}).seeds))


def test_defaults() -> None:
    """If no argument is given, then a crawl continues, without limits."""
    arguments = CrawlArguments.parse({"_job": "1f2e", "seeds": None})
    assert arguments == CrawlArguments()
    assert arguments.seeds == ()
    assert arguments.follow == LinkPolicy()
    assert arguments.scope is CrawlExtent.ANY
    assert (arguments.depth, arguments.max_per_host) == (255, 0)
    assert not arguments.allow.expressions
    assert not arguments.deny.expressions
    assert arguments.fresh is False
    assert list(iter_seeds(arguments.seeds)) == []


def test_every_argument(tmp_path: Path) -> None:
    """If all arguments are given, then each has its type."""
    (tmp_path / "allow").write_text("yes")
    (tmp_path / "deny").write_text("no\nnever")
    arguments = CrawlArguments.parse(
        {
            "seeds": "http://a",
            "follow": "type",
            "scope": "domain",
            "depth": " 3 ",
            "max_per_host": 1000,
            "allow": str(tmp_path / "allow"),
            "deny": tmp_path / "deny",
            "fresh": True,
        }
    )
    assert arguments.seeds == ("http://a/",)
    assert arguments.follow.positions == {LinkPosition.TYPE}
    assert arguments.scope is CrawlExtent.DOMAIN
    assert (arguments.depth, arguments.max_per_host) == (3, 1000)
    assert len(arguments.allow.expressions) == 1
    assert len(arguments.deny.expressions) == 2
    assert arguments.fresh is True


@pytest.mark.parametrize(
    ("text", "value"), [("0", False), ("1", True), ("false", False), ("True", True)]
)
def test_fresh(text: str, value: bool) -> None:
    """If `fresh` is one of its four words, then it is read."""
    assert CrawlArguments.parse({"fresh": text}).fresh is value


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        pytest.param("seed", "http://a/", "one of seeds, follow", id="unknown"),
        pytest.param(
            "seeds", "example.org", r"must be http\(s\) or ftp", id="no-scheme"
        ),
        pytest.param("seeds", "urn:a:b", r"must be http\(s\) or ftp", id="urn"),
        pytest.param("seeds", "http://a,b.org", "comma in the host", id="comma"),
        pytest.param(
            "seeds", "http://a/,http://", r"must be http\(s\) or ftp", id="two"
        ),
        pytest.param("seeds", "@/no/such/file", "@FILE", id="missing-file"),
        pytest.param("seeds", "@/", "@FILE", id="folder"),
        pytest.param("follow", "links", "must be one of abox", id="follow"),
        pytest.param("scope", "site", "any, domain, host, prefix", id="scope"),
        pytest.param("depth", "-1", "from 0 to 255", id="depth-negative"),
        pytest.param("depth", "256", "from 0 to 255", id="depth-large"),
        pytest.param("depth", "1.5", "from 0 to 255", id="depth-float"),
        pytest.param("depth", "", "from 0 to 255", id="depth-empty"),
        pytest.param("depth", "²", "from 0 to 255", id="depth-no-digit"),
        pytest.param("max_per_host", "9" * 9999, "an integer", id="many-digits"),
        pytest.param("allow", "@/no/such/file", "cannot be read", id="allow"),
        pytest.param("deny", "@/no/such/file", "cannot be read", id="deny"),
        pytest.param("deny", "no.txt", r"write no\\.txt", id="no file"),
        pytest.param("allow", "(", "must be a regular expression", id="no pattern"),
        pytest.param("allow", "#", "must be a regular expression", id="a comment"),
        pytest.param("fresh", "yes", "0, 1, false, true", id="fresh"),
    ],
)
def test_wrong_argument(name: str, text: str, allowed: str) -> None:
    """If an argument is wrong, then one line names it and the allowed values."""
    with pytest.raises(ConfigError, match=allowed) as caught:
        CrawlArguments.parse({name: text})
    message = str(caught.value)
    assert message.startswith(f"argument {name}={text}: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("http://a", ["http://a/"], id="one"),
        pytest.param(
            " http://a/x , https://b/#me, ", ["http://a/x", "https://b/"], id="two"
        ),
        pytest.param(
            "http://a/Paris,_Texas,http://b/,c",
            ["http://a/Paris,_Texas", "http://b/,c"],
            id="commas-in-urls",
        ),
        pytest.param("http://a/,http://a/", ["http://a/"] * 2, id="duplicates"),
        pytest.param("", [], id="empty"),
    ],
)
def test_seeds_in_the_argument(text: str, expected: list[str]) -> None:
    """If seeds are listed, then they are read as they will be requested."""
    assert seeds_of(text) == expected


SEED_FILE = b"""\xef\xbb\xbfhttp://a/1
# a comment, http://a/2

  http://a/3#x \r
no url
http://a/\xff
http://a/%d
mailto:me@a
http://a/last""" % (10**3000)


@pytest.mark.parametrize("name", ["seeds.txt", "seeds.txt.gz"])
def test_seed_file(name: str, tmp_path: Path) -> None:
    """If a file has bad lines, then they are named and the others are seeds."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(SEED_FILE) if path.suffix == ".gz" else SEED_FILE)
    seeds = seeds_of(f"@{path}")
    assert [seed for seed in seeds if isinstance(seed, str)] == [
        *["http://a/1", "http://a/3", "http://a/last"]
    ]
    assert [
        (seed.path, seed.line, seed.fault.reason)
        for seed in seeds
        if isinstance(seed, BadSeed)
    ] == [
        (path, 5, Reason.BAD_URI),
        (path, 6, Reason.BAD_CHARSET),
        (path, 7, Reason.BAD_URI),
        (path, 8, Reason.BAD_URI),
    ]


def test_truncated_seed_file(tmp_path: Path) -> None:
    """If compressed seeds break off, then those before are kept and it is named."""
    path = tmp_path / "seeds.gz"
    lines = b"".join(b"http://a/%d\n" % (number**7) for number in range(9999))
    path.write_bytes(gzip.compress(lines)[:-5000])
    *seeds, last = seeds_of(f"@{path}")
    assert seeds[:2] == ["http://a/0", "http://a/1"]
    assert all(isinstance(seed, str) for seed in seeds)
    assert isinstance(last, BadSeed)
    assert last.fault.reason is Reason.TRUNCATED_BODY
    assert last.line == len(seeds) + 1


def test_seed_file_that_is_not_gzip(tmp_path: Path) -> None:
    """If a file is named .gz and is not, then it is refused before the crawl."""
    path = tmp_path / "seeds.gz"
    path.write_text("http://a/")
    with pytest.raises(ConfigError, match="can be read"):
        seeds_of(f"@{path}")


def test_seed_file_is_streamed(tmp_path: Path) -> None:
    """If a seed file or a line in it is large, then memory stays small."""
    path = tmp_path / "seeds.gz"
    lines = [b"http://a/%d\n" % number for number in range(50_000)]
    path.write_bytes(
        gzip.compress(b"".join(lines) + b"x" * 20_000_000 + b"\nhttp://b/")
    )
    arguments = CrawlArguments.parse({"seeds": f"@{path}"})
    tracemalloc.start()
    try:
        last: list[str | BadSeed] = []
        n_seeds = 0
        for seed in iter_seeds(arguments.seeds):
            last = [*last[-1:], seed]
            n_seeds += 1
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_seeds == 50_002
    assert isinstance(last[0], BadSeed)
    assert last[0].line == 50_001
    assert last[1] == "http://b/"
    assert peak_bytes < 2_000_000


def typed(path: Path, text: str) -> list[Seed | BadSeed]:
    """Return the seeds of a table."""
    path.write_text(text)
    return list(iter_typed_seeds(path))


def test_table_of_seeds_gives_their_types(tmp_path: Path) -> None:
    """If seeds are a table of Squirrel, then each is of the type that it says."""
    rows = (
        "Type, URI\nsparql,http://a/q\nckan,http://b/\nrdf-dump,http://c/d\n"
        'html,"http://d/x,y"\n,http://e/\nDEREFERENCEABLE,http://f/\n'
    )
    kinds = (Kind.SPARQL, Kind.CKAN, Kind.DUMP, None, None, None)
    urls = ("a/q", "b/", "c/d", "d/x,y", "e/", "f/")
    seeds = typed(tmp_path / "seeds.csv", rows)
    assert seeds == [
        Seed(f"http://{url}", kind) for url, kind in zip(urls, kinds, strict=True)
    ]


def test_table_with_rows_longer_than_its_header(tmp_path: Path) -> None:
    """If a table has the column `uri` alone, then what else is in a row is left."""
    seeds = typed(tmp_path / "seeds.csv", "uri\nhttp://a/,sparql\nhttp://b/\n")
    assert seeds == [Seed("http://a/"), Seed("http://b/")]


def test_bad_rows_of_a_table_are_named(tmp_path: Path) -> None:
    """If a row has no URL or an unknown type, then it is a fault that names it."""
    seeds = typed(
        tmp_path / "seeds.txt", "uri,type\nhttp://a/,gopher\n,ckan\nhttp://b/,ckan\n"
    )
    bad = [seed for seed in seeds if isinstance(seed, BadSeed)]
    assert [seed.line for seed in bad] == [2, 3]
    assert "'gopher'" in bad[0].fault.detail
    assert "sparql" in bad[0].fault.detail
    assert seeds[2] == Seed("http://b/", Kind.CKAN)


def test_csv_without_names_of_columns_is_refused(tmp_path: Path) -> None:
    """If a file is called .csv and has no column `uri`, then an error names it."""
    path = tmp_path / "seeds.csv"
    path.write_text("http://a/,sparql\n")
    with pytest.raises(ConfigError, match="has a column 'uri'"):
        seeds_of(f"@{path}")


def test_pattern_without_a_file() -> None:
    """If `deny` is no file, then it is an expression, and is remembered as it is."""
    text = "/(print|login)/|a,b"
    arguments = CrawlArguments.parse({"deny": text})
    assert arguments.deny.match("http://a.example/print/1")
    assert not arguments.deny.match("http://a.example/printed")
    again = CrawlArguments.parse({"deny": inlined("deny", text)})
    assert again.deny == arguments.deny


def test_wanted_classes_of_a_file_are_kept(tmp_path: Path) -> None:
    """If `want` names a file of shapes, then a crawl keeps its targets alone."""
    path = tmp_path / "shapes.ttl"
    prefixes = "@prefix sh: <http://www.w3.org/ns/shacl#> . "
    path.write_text(f"{prefixes}[] sh:targetClass <https://schema.org/Product> .")
    wanted = CrawlArguments.parse({"want": str(path)}).want
    assert wanted == {"http://schema.org/Product"}
    kept = inlined("want", str(path))
    path.unlink()
    assert CrawlArguments.parse({"want": kept}).want == wanted
    assert inlined("want", "schema:Product") == kept
    assert not CrawlArguments.parse({"want": inlined("want", "")}).want
    with pytest.raises(ConfigError, match="No such file"):
        CrawlArguments.parse({"want": str(tmp_path / "other.ttl")})
