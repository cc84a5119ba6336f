"""Tests of `frontier.arguments.own`, and of arguments that classes of spiders add."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.arguments.crawl import ArgumentSet, CrawlArguments, texts_of
from rdfcrawl.frontier.arguments.seeds import iter_seeds
from rdfcrawl.frontier.queue.profiles import AgreedArguments, CrawlMember, agree
from rdfcrawl.spiders.ckan import CkanSpider
from rdfcrawl.spiders.sparql import SparqlSpider

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tone(StrEnum):
    """An enumeration."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, kw_only=True)
class PeopleArguments(CrawlArguments):
    """Ours, and one of each type."""

    min_age: int = 0
    share: float = 1.0
    is_strict: bool = False
    role: str | None = None
    tone: Tone = Tone.LOW
    lang: Literal["en", "de"] = "en"
    years: tuple[int, ...] = ()
    out: Path = Path()
    since: date = field(default=date.min, metadata={"parse": date.fromisoformat})

    def __post_init__(self) -> None:
        """Check what one type cannot say."""
        if self.min_age > 200:
            raise ValueError("too old for a person")


class PeopleSpider(CkanSpider):
    """Takes arguments by a class, and one by its `__init__`."""

    name = "people-of-portals"
    arguments_class: ClassVar[type[PeopleArguments]] = PeopleArguments

    def __init__(self, *args: Any, colour: str = "red", **kw: Any) -> None:
        """Take a colour."""
        super().__init__(*args, **kw)
        self.colour = colour


class BothSpider(PeopleSpider, SparqlSpider):
    """Takes what either takes."""

    name = "both"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("min_age", "18", 18),
        ("share", "0.5", 0.5),
        ("is_strict", "true", True),
        ("role", "editor", "editor"),
        ("tone", "high", Tone.HIGH),
        ("lang", "de", "de"),
        ("years", "1999, 2001", (1999, 2001)),
        ("out", "a/b", Path("a/b")),
        ("since", "2020-02-29", date(2020, 2, 29)),
    ],
)
def test_own_argument_has_the_type_of_its_field(
    name: str, text: str, value: object
) -> None:
    """If a class of arguments adds a field, then its text is read by its type."""
    arguments = PeopleArguments.parse({name: text, "depth": "3"})
    assert getattr(arguments, name) == value
    assert arguments.depth == 3


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("min_age", "old", "must be int"),
        ("share", "half", "must be float"),
        ("is_strict", "perhaps", "must be one of 0, 1, false, true"),
        ("tone", "shrill", "must be one of high, low"),
        ("lang", "fr", "must be one of en, de"),
        ("years", "1999,x", "must be tuple"),
        ("since", "yesterday", "must be date"),
    ],
)
def test_wrong_own_argument_is_refused_in_one_line(
    name: str, text: str, allowed: str
) -> None:
    """If an own argument is wrong, then one line names it and the allowed values."""
    with pytest.raises(ConfigError, match=allowed) as caught:
        PeopleArguments.parse({name: text})
    message = str(caught.value)
    assert message.startswith(f"argument {name}={text}: ")
    assert "\n" not in message


def test_unknown_argument_is_told_with_the_own_ones() -> None:
    """If an argument is unknown, then the line lists ours and the class's own."""
    with pytest.raises(ConfigError, match=r"argument age=1: unknown.*depth.*min_age"):
        PeopleArguments.parse({"age": "1"})


def test_check_of_a_class_is_told_in_one_line() -> None:
    """If `__post_init__` refuses the values, then its words are the line."""
    with pytest.raises(ConfigError, match="PeopleArguments: too old for a person"):
        PeopleArguments.parse({"min_age": "201"})


def test_own_argument_without_a_default_is_refused() -> None:
    """If a field has no default, then a crawl could not go on without it."""

    @dataclass(frozen=True, kw_only=True)
    class Demanding(CrawlArguments):
        must: int

    with pytest.raises(ConfigError, match="argument must: its field needs a default"):
        Demanding.parse({"must": "1"})


def test_type_that_no_text_is_read_as_is_refused() -> None:
    """If a type has no parser, then the line names a remedy."""

    @dataclass(frozen=True, kw_only=True)
    class Strange(CrawlArguments):
        when: date = date.min

    with pytest.raises(ConfigError, match=r"argument when: .* metadata="):
        Strange.parse({"when": "2020-01-01"})


def test_class_takes_what_its_bases_take() -> None:
    """If a spider is made of several of ours, then it takes the arguments of all."""
    names = BothSpider.accepts().names
    assert {"portals", "endpoints", "seeds", "min_age"} <= set(names)
    assert BothSpider.accepts().passed == {"colour"}
    assert "sites" not in names


def test_crawl_keeps_own_arguments() -> None:
    """If a crawl goes on, then own arguments hold as ours do, until they are reset."""
    accepts = PeopleSpider.accepts()
    begun = agree(None, CrawlMember(accepts=accepts, given={"min_age": "18"}), "c")
    assert begun == AgreedArguments({"min_age": "18"})
    assert agree(begun.texts, CrawlMember(accepts=accepts), "c") == begun
    with pytest.raises(ConfigError, match="add -a reset=min_age"):
        agree(begun.texts, CrawlMember(accepts=accepts, given={"min_age": "20"}), "c")
    given = {"min_age": "20", "reset": "min_age"}
    assert agree(
        begun.texts, CrawlMember(accepts=accepts, given=given), "c"
    ).changed == {"min_age"}


def _generated() -> Iterator[str]:
    yield "http://a.example/x,http://b.example/"
    yield "http://c.example/"


@pytest.mark.parametrize(
    "seeds",
    [
        ["http://a.example/x,http://b.example/", "http://c.example/"],
        ("http://a.example/x,http://b.example/", "http://c.example/"),
        _generated(),
        {"http://c.example/": 1, "http://a.example/x,http://b.example/": 1}.keys(),
    ],
)
def test_seeds_of_any_iterable_are_taken_one_by_one(seeds: object) -> None:
    """If seeds come from Python, then each element is one, also with a comma in it."""
    arguments = CrawlArguments.parse(texts_of({"seeds": seeds}))
    assert set(iter_seeds(arguments.seeds)) == {
        "http://a.example/x%2Chttp://b.example/",
        "http://c.example/",
    }


def test_path_from_python_is_the_file(tmp_path: Path) -> None:
    """If a path is given from Python, then the content of the file is used."""
    seeds, deny = tmp_path / "seeds.txt", tmp_path / "deny.txt"
    seeds.write_text("http://a.example/\n")
    deny.write_text("private\n")
    arguments = CrawlArguments.parse(texts_of({"seeds": seeds, "deny": deny}))
    assert list(iter_seeds(arguments.seeds)) == ["http://a.example/"]
    assert arguments.deny.match("http://a.example/private")


def test_values_from_python_mean_what_their_texts_mean() -> None:
    """If values of other types come from Python, then they are read as of `-a`."""
    given = {
        "depth": 3,
        "fresh": True,
        "domains": {"a.example", "b.example"},
        "allow": [r"/a,b/", "c"],
        "min_age": 18,
        "years": [1, 2],
        "tone": Tone.HIGH,
        "scope": None,
    }
    arguments = PeopleArguments.parse(texts_of(given))
    assert (arguments.depth, arguments.fresh) == (3, True)
    assert arguments.domains == {"a.example", "b.example"}
    assert arguments.allow.match("http://x/a,b/")
    assert (arguments.min_age, arguments.years) == (18, (1, 2))
    assert arguments.tone is Tone.HIGH


@pytest.mark.parametrize("value", [b"http://a.example/", {"a": 1}, [b"x"]])
def test_what_has_no_text_is_refused_by_name(value: object) -> None:
    """If a script gives what cannot be an argument, then one line names it."""
    with pytest.raises(ConfigError, match="argument seeds: "):
        texts_of({"seeds": value})


def test_arguments_of_another_class_are_read_without_its_own() -> None:
    """If another spider's worker reads the arguments, then it needs no class of it."""
    assert ArgumentSet().parse({"depth": "2"}) == CrawlArguments(depth=2)
