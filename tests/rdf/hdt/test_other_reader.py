"""Another implementation of HDT reads our files: hdt-java."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl.rdf.hdt import write_hdt
from tests.support.hdt_files import BASE
from tests.support.nasty_statements import nasty_statements
from tests.support.sparql_services import find_jar, require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.support.nasty_statements import Term

pytestmark = pytest.mark.service

PROGRAM = Path(__file__).parents[2] / "support" / "java" / "ReadHdt.java"
JARS = (
    "hdt-java-core-*.jar",
    "hdt-api-*.jar",
    "slf4j-api-*.jar",
    "commons-compress-*.jar",
)
I18N = "https://www.w3.org/ns/i18n#"
STRING = "http://www.w3.org/2001/XMLSchema#string"


def by_hdt_java(path: Path) -> set[tuple[str, ...]]:
    """Return the statements of a file, as their terms stand in HDT."""
    jars = ":".join(str(find_jar(name)) for name in JARS)
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", jars, str(PROGRAM), str(path)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    # It prints its progress.
    terms = (
        done.stdout.partition(b"\n")[2] if b"Index" in done.stdout[:40] else done.stdout
    )
    words = terms.decode().split("\0")[:-1]
    return set(zip(words[::3], words[1::3], words[2::3], strict=True))


def in_hdt(term: Any) -> str:
    """Return a term as HDT has it: texts without escapes."""
    if isinstance(term, ox.NamedNode):
        return term.value
    if isinstance(term, ox.BlankNode):
        return str(term)
    assert isinstance(term, ox.Literal)
    if term.direction:  # HDT is RDF 1.1
        kind = f"{I18N}{term.language}_{term.direction.value}"
        return f'"{term.value}"^^<{kind}>'
    if term.language:
        return f'"{term.value}"@{term.language}'
    if term.datatype.value == STRING:
        return f'"{term.value}"'
    return f'"{term.value}"^^<{term.datatype.value}>'


def nasty_lines() -> Iterator[bytes]:
    """Yield N-Triples with texts that end terms in one format or another."""

    def said(term: Term) -> str:
        if term.kind == "iri":
            return f"<{term.value}>"
        if term.kind == "blank":
            return f"_:{term.value}"
        datatype = ox.NamedNode(term.datatype) if term.datatype else None
        return str(
            ox.Literal(term.value, language=term.language or None, datatype=datatype)
        )

    for statement in nasty_statements(11, n=3000):
        if "\0" not in statement[2].value:
            yield f"{' '.join(map(said, statement))} .\n".encode()
    for tag in ("ar--rtl", "ar-eg--rtl", "en--ltr"):
        yield f'<http://e/a> <http://e/p> "\u0645 \\"@{tag}"@{tag} .\n'.encode()


def many_lines() -> Iterator[bytes]:
    """Yield more terms than a block, a page and a byte of a number can hold."""
    for i in range(24_000):
        s = b"<http://e/resource/%d>" % (i * 7919 % 10_000)
        o = b"<http://e/resource/%d>" % (i // 3)
        yield b"%s <http://e/p%d> %s .\n" % (s, i % 300, o if i % 2 else b'"%d"' % i)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("lines", [nasty_lines, many_lines])
def test_hdt_java_reads_the_same(lines: Any, tmp_path: Path) -> None:
    """If a file is sorted in little memory, then hdt-java finds each statement.

    A base direction is in a datatype, which it reads as any other.
    """
    require(["java", "javac"], JARS)
    written = list(lines())
    path = tmp_path / "x.hdt"
    with path.open("wb") as file:
        report = write_hdt(written, file, base=BASE, memory_bytes=2**20)
    assert not report.faults
    expected = terms_of(written)
    assert by_hdt_java(path) == expected
    assert report.n_triples == len(expected)


def terms_of(lines: Iterable[bytes]) -> set[tuple[str, ...]]:
    """Return the terms of N-Triples as pyoxigraph reads them."""
    parsed = ox.parse(b"".join(lines), format=ox.RdfFormat.N_TRIPLES)
    return {(in_hdt(x.subject), in_hdt(x.predicate), in_hdt(x.object)) for x in parsed}
