"""Documents are judged by shapes while they pass, and nothing waits for that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.shapes.follower import FindingsTable, ShapesFollower
from tests.support.pages import blocks, commands_in, read_page
from tests.support.sitemap_sites import Site
from tests.support.written_logs import RawVersion, Version, Written, write_log

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

PAGE = "shapes.md"
FOAF = "http://xmlns.com/foaf/0.1/"
A, B, C, D, E = (f"http://{name}.example/" for name in "abcde")


def shapes_of_the_guide(folder: Path, more: str = "") -> Path:
    """Write the shapes of the guide to its file."""
    (shapes,) = blocks(read_page(PAGE), "turtle")
    path = folder / "person.ttl"
    path.write_text(shapes + more)
    return path


def person(graph: str, version_ms: int, *pairs: tuple[str, str]) -> RawVersion:
    """Return a document about a person."""
    given = [("a", f"<{FOAF}Person>"), *((f"<{FOAF}{name}>", x) for name, x in pairs)]
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    lines = (
        f"<{graph}#me> {rdf_type if name == 'a' else name} {value} <{graph}> .\n"
        for name, value in given
    )
    return RawVersion(graph, version_ms, "".join(lines).encode())


def judge(root: Path, shapes: Path, secs: float = 10.0) -> dict[str, Any]:
    """Follow a log with shapes to its end; return the report."""
    follower = ShapesFollower(shapes, root / "report", secs=secs)
    following = LogFollowing(CrawlLog(root), follower, patience_secs=0)
    following.open()
    following.catch_up()
    following.end_generation()
    follower.close()
    found: dict[str, Any] = json.loads((root / "report" / "report.json").read_text())
    return found


@pytest.mark.in_turn(2)
def test_report_is_about_the_latest_versions(tmp_path: Path) -> None:
    """If documents are mended, then their violations go, and new ones are named."""
    shapes = shapes_of_the_guide(tmp_path)
    named = ("name", '"Ann"')
    first = [person(A, 1), person(B, 1, named), person(C, 1), person(D, 1)]
    write_log(tmp_path, first, "1")
    found = judge(tmp_path, shapes)
    assert found["total"]["violations"] == 3
    later: list[Version] = [
        person(A, 2, named),
        person(B, 2, ("age", '"old"')),
        Written(C, 2),
    ]
    write_log(tmp_path, later, "2")
    found = judge(tmp_path, shapes)
    assert found["total"] == {
        "documents": 3, "skipped": 0, "violating": 2,
        "violations": 2, "warnings": 1, "others": 0,
    }  # fmt: skip
    assert found["hosts"]["b.example"]["warnings"] == 1
    assert "c.example" not in found["hosts"]
    results = {each["document"]: each["results"] for each in found["documents"]}
    assert results.keys() == {B, D}
    (result,) = results[D]
    assert (result["severity"], result["constraint"]) == ("Violation", "MinCount")
    assert (result["focus"], result["path"]) == (f"{D}#me", f"{FOAF}name")
    assert result["message"] == "a person has a name"
    table = (tmp_path / "report" / "report.txt").read_text().splitlines()
    assert table[0].split()[:3] == ["host", "documents", "skipped"]
    assert table[-1].split() == ["all", "3", "0", "2", "2", "1", "0"]
    # Other shapes judge everything again.
    shapes.write_text("")
    found = judge(tmp_path, shapes)
    assert (found["total"]["documents"], found["total"]["violations"]) == (3, 0)


def test_document_that_is_too_much_is_skipped_and_counted(tmp_path: Path) -> None:
    """If a document is too long, takes too long or is odd, the others are judged."""
    pattern = "<urn:s> a sh:NodeShape ; sh:targetClass foaf:Person ;\n sh:property"
    pattern += ' [ sh:path foaf:nick ; sh:pattern "^(a+)+$" ] .\n'
    shapes = shapes_of_the_guide(tmp_path, pattern)
    long = [("nick", f'"{"x" * 1000}{n}"') for n in range(1100)]
    quoted = b"<x:s> <x:p> <<( <x:s> <x:p> <x:o> )>> <x:g> .\n"
    write_log(
        tmp_path,
        [
            *(person(A, 1), person(B, 1, *long)),
            person(C, 1, ("nick", f'"{"a" * 60}b"')),
            *(RawVersion(D, 1, quoted), person(E, 1)),
        ],
    )
    found = judge(tmp_path, shapes, secs=0.5)
    assert found["total"]["documents"] == 5
    skipped = {x["document"]: x.get("skipped") for x in found["documents"]}
    assert skipped == {A: None, B: "too_large", C: "secs", D: "fault", E: None}
    assert found["total"]["violations"] == 2


def test_a_report_that_takes_long_is_rare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a report takes long, then the next one waits for several times as long."""
    now, written = [1000.0], []

    def write(_table: FindingsTable, _file: object) -> None:
        written.append(now[0])
        now[0] += 100

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(FindingsTable, "write_json", write)
    shapes = shapes_of_the_guide(tmp_path)
    write_log(tmp_path, [person(A, 1)])
    log = CrawlLog(tmp_path)
    judged = ShapesFollower(shapes, tmp_path / "report")
    judged.open(log.identity)
    for secs in (0, 10, 300, 200):
        now[0] += secs
        judged.commit(log.begin())
    assert written == [1000.0, 1610.0]
    judged.close()


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        (None, "No such file"),
        ("no turtle", "SyntaxError"),
        (
            "@prefix sh: <http://www.w3.org/ns/shacl#> . [] sh:property [] .",
            "does not validate",
        ),
    ],
    ids=["missing", "syntax", "path"],
)
def test_wrong_shapes_are_told_at_once(
    tmp_path: Path, shapes: str | None, told: str
) -> None:
    """If shapes cannot be used, then one line says so before anything is crawled."""
    path = tmp_path / "shapes.ttl"
    if shapes is not None:
        path.write_text(shapes)
    with pytest.raises(ConfigError, match=told) as error:
        ShapesFollower.from_options(f"shapes:{path}", {})
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="has no option 'x'"):
        ShapesFollower.from_options(f"shapes:{path}", {"x": 1})


def test_wrong_shapes_name_their_argument(commands: Commands, tmp_path: Path) -> None:
    """If the file of `-a shapes` is wrong, then one line names the argument."""
    path = tmp_path / "shapes.ttl"
    path.write_text("no turtle")
    words = ("crawl", "linkeddata", "-aseeds=http://127.0.0.1:1/", f"-ashapes={path}")
    result = commands.start(*words).wait()
    assert result.code == 2
    assert f": shapes: {path}: SyntaxError" in result.stderr
    assert "STORES" not in result.stderr


def test_guide_judges_a_crawl(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the guide's command is typed, then its report names the violations."""
    site = Site(loopback, "127.92.1.1")
    prefix = f"@prefix foaf: <{FOAF}> . "
    site.put("/people", f"{prefix}<> foaf:topic </ann>, </bob> .".encode())
    site.put("/ann", f'{prefix}<#i> a foaf:Person ; foaf:name "Ann" .'.encode())
    site.put("/bob", f"{prefix}<#i> a foaf:Person . <#j> a foaf:Person .".encode())
    shapes = shapes_of_the_guide(tmp_path)
    page = read_page(PAGE)
    crawl, load = commands_in(page)
    words = [
        word.replace("https://example.org", site.at("/")[:-1]).replace(
            "person.ttl", str(shapes)
        )
        for word in crawl[1:]
    ]
    result = commands.start(*words, CRAWL_ID="linkeddata", STATS_DUMP="True").wait()
    assert result.code == 0, result.stderr
    counts = {"documents": 3, "violating": 1, "violations": 2, "skipped": 0}
    for name, number in counts.items():
        assert f"'shapes/{name}': {number}" in result.stderr
    (line,) = (x for x in result.stderr.splitlines() if x.startswith("store  "))
    (told,) = (x for x in page.splitlines() if x.startswith("store  "))
    begin, middle, end = told.split("…")
    assert line.startswith(begin)
    assert middle in line
    assert line.endswith(end.removeprefix("/crawl"))
    report = json.loads((result.folder / "shapes" / "report.json").read_text())
    assert report["total"]["violations"] == 2
    words = [word.replace("person.ttl", str(shapes)) for word in load[1:]]
    done = commands.start(*words, folder=result.folder.parent).wait()
    assert done.code == 0, done.stderr
    assert (tmp_path / "person.ttl-report" / "report.json").exists()
