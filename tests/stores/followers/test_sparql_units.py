"""Logins, options and parts, without a store."""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.followers.options import exposed_secrets, follower_plans
from rdfcrawl.stores.followers.sparql import statements
from rdfcrawl.stores.followers.sparql.client import DigestChallenge
from rdfcrawl.stores.followers.sparql.documents import PlainDocument, grouped
from rdfcrawl.stores.followers.sparql.options import PROFILES, SparqlStoreOptions
from rdfcrawl.stores.followers.sparql.records import DocumentRecord, StoredVersion
from rdfcrawl.stores.followers.sparql.statements import iter_parts
from rdfcrawl.stores.followers.sparql.writing import insert
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.options import StoreOptions
from tests.support.written_logs import RawVersion, versions_in, write_log

if TYPE_CHECKING:
    from pathlib import Path

_LABEL = re.compile(rb"^_:\w+|_:\w+(?= \.$)").findall
A, B = "a:a", "a:b"
CONSTANT, BLANK = b'<a:s> <a:p> "x" .\n', b"<a:s> <a:p> _:b .\n"
_REALM = 'realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
_NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
_CLIENT = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_digest_is_that_of_the_standard(algorithm: str, response: str) -> None:
    """If a server asks as RFC 7616 3.9.1 does, then the answer is the one there."""
    challenge = DigestChallenge(_REALM.format(algorithm) + f'nonce="{_NONCE}"')
    answer = challenge.authorization(
        "GET", "/dir/index.html", "Mufasa", "Circle of Life", _CLIENT
    )
    assert f'response="{response}"' in answer
    assert "nc=00000001" in answer


def test_login_comes_from_options_uri_or_environment(tmp_path: Path) -> None:
    """If a login is in several places, the nearest counts; none of it is shown."""
    secret = tmp_path / "secret"
    secret.write_text("of-file\n")
    uri = "fuseki+https://u:of-uri@host:3030/ds"
    environment = {"FUSEKI_TOKEN_FILE": str(secret), "FUSEKI_PASSWORD": "of-env"}
    read = SparqlStoreOptions.read(uri, {"user": "v"}, environment)
    assert (read.login.user, read.login.password) == ("v", "of-uri")
    assert read.login.token == "of-file"
    assert read.name == "fuseki+https://host:3030/ds"
    assert "of-" not in repr(read)
    given = {"password_file": str(secret)}
    assert SparqlStoreOptions.read(uri, given, {}).login.password == "of-file"
    bare = SparqlStoreOptions.read("fuseki+http://host/ds", {}, environment)
    assert bare.login.password == "of-env"


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("fuseki+http:ds", {}, "has no host"),
        ("fuseki+http://u:s3/cret@h/ds", {}, "write %2F"),
        ("fuseki+http://u:12?s3@h/ds", {}, "write %2F"),
        ("fuseki+http://h:port/ds", {}, "port"),
        ("sparql+http://h/update", {}, 'set the option "query"'),
        ("fuseki+http://h/ds", {"colour": 1}, "has no option 'colour', only"),
        ("fuseki+http://h/ds", {"concurrency": 0}, "concurrency=0: must be 1 to 64"),
        ("fuseki+http://h/ds", {"batch_bytes": "1"}, "must be an integer"),
        ("fuseki+http://h/ds", {"method": "put"}, "must be graph-store or update"),
        ("fuseki+http://h/ds", {"provenance": 1}, "must be true or false"),
        ("fuseki+http://h/ds", {"password_file": "/no/where"}, "password_file=/no"),
        ("fuseki+http://h/ds", {"password": "s\n3"}, "control characters"),
        ("blazegraph+http://h/k", {"method": "graph-store"}, "set method=update"),
    ],
)
def test_wrong_options_are_one_line(
    uri: str, options: dict[str, object], told: str
) -> None:
    """If an option or the URI is wrong, then one line names it."""
    with pytest.raises((ConfigError, ValueError), match=re.escape(told)) as raised:
        SparqlStoreOptions.read(uri, options, {})
    assert "\n" not in str(raised.value)
    assert "s3" not in str(raised.value)


@pytest.mark.parametrize(
    "stores",
    [
        '{"fuseki+http://u:s3cret@h/ds": {}',
        ["fuseki+http://u:s3cret@h/ds"],
        {"fuseki+http://u:s3/cret@h/ds": {}},
        {"fusek+http://u:s3/cret@h/ds": {}},
        {"fuseki+http://u:s3cret@h/ds": {"timeout_secs": 0}},
        {"fuseki+http://u:s3cret@h/ds": {"user": {1}}},
        {"fuseki+http://u:s3cret@h/ds": "s3"},
    ],
)
def test_wrong_stores_are_told_without_their_logins(stores: object) -> None:
    """If `STORES` is wrong, then the line that says so shows no password."""
    with pytest.raises(ConfigError) as raised:
        follower_plans(StoreOptions.from_settings(Settings({"STORES": stores})))
    assert "s3" not in str(raised.value)


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("fuseki+http://u:s3cret@h/ds", {"colour": 1}, "has no option 'colour', only"),
        (
            "fuseki+http://h/ds",
            {"password_file": "/no"},
            "password_file=/no: [Errno 2]",
        ),
        ("fuseki+http://h/ds", {"timeout_secs": 0}, "timeout_secs=0: must be 1 to"),
        ("sparql+http://h/update", {}, 'set the option "query"'),
        ("oxigraph:store", {"colour": 1}, "has no option 'colour'"),
        ("oxigraph:", {}, "must be oxigraph:PATH"),
        ("turtle:files", {"per": "day"}, "per='day': must be one of"),
        ("parquet:data", {"renew_secs": -1}, "renew_secs=-1: must be 0 to"),
        ("parquet:data", 7, "options must be a dictionary"),
        ("shapes:none.ttl", {"secs": 0}, "secs=0: must be 0.1 to"),
    ],
)
def test_a_wrong_option_is_told_with_its_store(
    uri: str, options: object, told: str
) -> None:
    """If one of several stores has a wrong option, then the line says which one."""
    shown = uri.replace("u:s3cret@", "")
    settings = Settings({"STORES": {uri: options}})
    with pytest.raises(ConfigError, match=re.escape(f"STORES={shown}: {told}")):
        follower_plans(StoreOptions.from_settings(settings))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60),
    st.integers(1, 400),
    st.integers(1, 20),
)
def test_no_blank_node_is_in_two_parts(
    pairs: list[tuple[int, int]], max_bytes: int, max_lines: int
) -> None:
    """If triples are cut into parts, then none is lost, and no blank node cut."""
    terms = [f"_:b{n}" if n < 6 else f"<http://e/{n}>" for n in range(10)]
    lines = [
        f"{terms[one]} <http://e/_:p> {terms[other]} .\n".encode()
        for one, other in pairs
    ] + [b'<http://e/s> <http://e/p> "> _:b1 ." .\n'] * 3
    pieces = [b"".join(lines[:7]), b"".join(lines[7:])]
    parts = list(
        iter_parts(lambda: iter(pieces), max_bytes=max_bytes, max_lines=max_lines)
    )
    assert sorted(b"".join(parts).splitlines()) == sorted(b"".join(lines).splitlines())
    labels = [
        {
            x
            for line in part.splitlines()
            for x in re.findall(rb"^_:\w+|_:\w+(?= \.$)", line)
        }
        for part in parts
    ]
    assert sum(map(len, labels)) == len(set().union(*labels))


def test_blank_node_of_a_triple_term_is_not_cut() -> None:
    """If a blank node is in a triple term, too, then all of it is in one part."""
    lines = [
        b'_:b <a:p> "1" .\n',
        b'<a:s> <a:p> "2" .\n',
        b"<a:s> <a:p> <<( _:c <a:p> _:b )>> .\n",
        b"_:c <a:p> <a:o> .\n",
    ]
    parts = list(iter_parts(lambda: iter([b"".join(lines)]), max_bytes=1, max_lines=1))
    assert sorted(len(part.splitlines()) for part in parts) == [1, 3]


def test_virtuoso_gets_short_documents_together(tmp_path: Path) -> None:
    """If a document has no blank nodes and few lines, then it shares an update."""
    said = [(1, "o"), (1, "_:b"), (41, "o"), (40, "o"), (1, "o")]
    for n, (n_lines, term) in enumerate(said):
        value = term if term[0] == "_" else f"<a:{term}>"
        lines = (f"<a:{i}> <a:p> {value} <a:g{n}> .\n" for i in range(n_lines))
        write_log(tmp_path, [RawVersion(f"a:g{n}", 1, "".join(lines).encode())])
    identity = CrawlLog(tmp_path).identity
    plain = [
        PlainDocument(each, DocumentRecord(), StoredVersion.of(each, identity))
        for each in versions_in(tmp_path)
    ]
    options = SparqlStoreOptions.read("virtuoso+http://host/", {}, {})
    groups = [[each.graph for each in group] for group in grouped(plain, options)]
    assert groups == [["a:g0", "a:g3", "a:g4"], ["a:g1", "a:g2"]]


@pytest.mark.parametrize(
    ("contents", "inserts"),
    [
        ([], []),
        ([(A, CONSTANT), (B, CONSTANT)], [f"DATA {A} {B}"]),
        ([(A, BLANK + CONSTANT), (B, BLANK)], [f"DATA {A}", f"{A} {B} {A}"]),
        ([(A, BLANK), (B, BLANK)], [A, B]),
    ],
)
def test_virtuoso_gets_blank_nodes_in_templates_alone(
    contents: list[tuple[str, bytes]], inserts: list[str]
) -> None:
    """If statements have blank nodes, only they and one other are compiled."""
    update = insert(contents, PROFILES["virtuoso"]).decode()
    parts = [part.partition("WHERE")[0] for part in update.split("INSERT")[1:]]
    words = [re.findall(r"DATA|(?<=GRAPH <)[^>]*", part) for part in parts]
    assert [" ".join(each) for each in words] == inserts
    templates = [part for part in parts if "DATA" not in part]
    lines = [x for part in templates for x in part.splitlines() if x.endswith(" .")]
    n_constant = sum("_:" not in line for line in lines)
    assert n_constant == (len(templates) == 1)


def test_long_document_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a document is long, then its graphs are parted in files without a name."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(statements, "_HELD_BYTES", 1000)
    quads = [f'<a:s> <a:p> "{n}" <a:g{n % 7 if n < 70 else 7}> .\n' for n in range(900)]
    write_log(tmp_path, [RawVersion("a:d", 1, "".join(quads).encode())])
    (document,) = versions_in(tmp_path)
    found = []
    for content in statements.iter_contents(document):
        assert not list(folder.iterdir())
        for _ in range(2):  # a store may be asked again
            lines = b"".join(content.pieces()).decode().splitlines(keepends=True)
        found += [f"{line[:-2]}<{content.graph}> .\n" for line in lines]
    assert sorted(found) == sorted(quads)


@pytest.mark.parametrize(
    ("uri", "options", "priority", "told"),
    [
        ("fuseki+http://u:p@h/d", {}, "cmdline", "FUSEKI_PASSWORD_FILE"),
        ("fuseki+http://u:p@h/d", {}, "project", ""),
        ("fuseki+http://h/d", {"user": "u", "password_file": "p"}, "cmdline", ""),
        ("qlever+http://h/", {"token": "t"}, "cmdline", "QLEVER_TOKEN"),
        ("mine:x", {"token": "t"}, "cmdline", "settings.py"),
    ],
)
def test_secrets_on_the_command_line_are_told(
    uri: str, options: dict[str, str], priority: str, told: str
) -> None:
    """If a password is typed, then one line names a better place, but not the word."""
    settings = Settings({"STORES": {uri: options}}, priority)
    lines = exposed_secrets(settings, settings.getdict("STORES"))
    assert len(lines) == bool(told)
    assert all(told in line and "u:p@" not in line for line in lines)
    assert exposed_secrets(Settings(), {}, "fuseki+http://u:p@h/d")
