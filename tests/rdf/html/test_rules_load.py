"""Rule files are read at start, or refused with file, line and rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.html.rules import load, load_rules
from rdfcrawl.rdf.html.rules.iris import MAX_URL_CHARS, glob
from rdfcrawl.rdf.html.rules.yaml_nodes import MAX_NODES
from tests.support.examples import examples
from tests.support.pages import read_page

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rules import RuleSet

RULE = "rules:\n  a:\n    match: e.example\n    properties: {dct:title: h1}\n"

Load = Callable[[str | bytes], "RuleSet"]


@pytest.fixture
def read(tmp_path: Path) -> Load:
    """Return a function that reads the text of a rule file."""

    def run(text: str | bytes) -> RuleSet:
        path = tmp_path / "r.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_rules(path)

    return run


def rule(text: str) -> str:
    """Return a file whose only rule is `a`; `text` begins on its fourth line."""
    lines = "".join(f"    {line}\n" for line in text.split("\n"))
    return f"rules:\n  a:\n    match: e.example\n{lines}"


def value(text: str) -> str:
    """Return a file with a value on its fourth line."""
    return rule(f"properties: {{dct:title: {text}}}")


# -- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            rule("props: {}"),
            4,
            "rule a: 'props' is unknown in a rule; there are",
        ),
        (rule("fields: {x: h1}"), 2, "rule a: it has neither `properties` nor"),
        (rule("properties:\n  dtc:title: h1"), 5, "prefix 'dtc' of 'dtc:title' is not"),
        (rule("properties:\n  title: h1"), 5, "'title' is not an IRI"),
        (rule("properties:\n  'ex ample:x': h1"), 5, "is not an IRI"),
        (rule("properties:\n  'http://a b': h1"), 5, "character that no IRI has"),
        (rule("properties: [h1]"), 4, "`properties` is a mapping"),
        (rule("properties:\n  dct:a: h1\n  dct:a: h2"), 6, "'dct:a' appears twice"),
        (value("'h1['"), 4, "not a CSS selector"),
        (value("'h1::first'"), 4, "not a CSS selector"),
        (value("''"), 4, "quote values that begin with #"),
        (rule("properties:\n  dct:title: #x"), 5, "quote values that begin with #"),
        (value("{xpath: '//a['}"), 4, "not an XPath expression"),
        (value("{xpath: 'f()'}"), 4, "not an XPath expression"),
        (value("{json: 'a['}"), 4, "not a JMESPath expression"),
        (value("{json: 'f(@)', css: a, xpath: b}"), 4, "css and xpath exclude"),
        (value("{css: a, text: b}"), 4, "a value has one of css, xpath, json"),
        (value("{as: iri}"), 4, "a value has one of css, xpath, json"),
        (value("{css: a, as: url}"), 4, "'url' must be one of iri, literal"),
        (value("{css: a, required: maybe}"), 4, "'maybe' must be true or false"),
        (value("{css: a, language: x_y}"), 4, "'x_y' is not a language"),
        (value("{css: a, language: en, datatype: xsd:date}"), 4, "not both"),
        (value("{css: a, as: iri, language: en}"), 4, "an IRI has no language"),
        (value("{text: a, pattern: b}"), 4, "`pattern` needs a selector"),
        (value("{css: a, pattern: '('}"), 4, "not a regular expression"),
        (
            value("{css: a, pattern: '(?P<x>a)', template: '{y}'}"),
            4,
            "{y} is not known",
        ),
        (value("{text: '{'}"), 4, "a literal brace must be doubled"),
        (value("{text: '{value}'}"), 4, "{value} is not known; there are base, host"),
        (value("{css: a, attribute: 'a b'}"), 4, "not an attribute name"),
        (value("{css: a, whitespace: none}"), 4, "must be one of keep, collapse"),
        (value("{css: a, map: [b]}"), 4, "`map` is a mapping"),
        (value("{css: [a]}"), 4, "must be text; quote values that begin with ["),
        (value("{iri: 'dtc:x'}"), 4, "prefix 'dtc'"),
        (value("{css: a, datatype: date}"), 4, "'date' is not an IRI"),
        (
            value("{items: a, properties: {dct:x: {json: b}}}"),
            4,
            "json also needs css or",
        ),
        (value("{items: {css: a, json: b}, properties: {dct:x: b}}"), 4, "use json"),
        (value("{items: {}, type: dcat:Dataset}"), 4, "`items` is a selector"),
        (value("{properties: {}, css: a}"), 4, "'css' is unknown in a nested resource"),
        (value("{fields: {n: a}, properties: {}}"), 4, "'n' has a meaning"),
        (value("{fields: {a-b: a}, properties: {}}"), 4, "cannot be a name"),
        (
            rule("subject: {css: a, as: literal}\ntype: dcat:A"),
            4,
            "a subject is an IRI",
        ),
        (rule("subject: {url}\ntype: dcat:A"), 4, "'url' is unknown in a value"),
        (rule("properties: {^dct:title: h1}"), 4, "`^` needs an IRI or a resource"),
        (
            rule("links: {nxt: a}"),
            4,
            "'nxt' is unknown in `links`; there are alternate",
        ),
        (rule("links: {next: {css: a, as: literal}}"), 4, "a link is an IRI"),
        ("rules:\n a: {links: {next: a}}", 2, "rule a: `match` is missing"),
        ("rules:\n a: {match: [], links: {next: a}}", 2, "`match` is empty"),
        ("rules:\n a: {match: /x, links: {next: a}}", 2, "is a host and a path"),
        ("rules:\n a: {match: a/*/*/*/*/*/*/*, links: {next: a}}", 2, "6 stars"),
        ("rules:\n a: {match: {glob: a}, links: {next: a}}", 2, "'glob' is unknown"),
        (
            "rules:\n a: {match: {regex: '('}, links: {next: a}}",
            2,
            "not a regular expr",
        ),
        ("rules:\n a: {match: {regex: '(?P<n>x)'}, links: {next: a}}", 2, "a meaning"),
        ("rules:\n a: {match: {}, links: {next: a}}", 2, "or has a `regex`"),
        (RULE.replace("e.example", "e" * 2_001), 3, "longer than 2000 characters"),
        (
            RULE.replace("e.example", f"{{regex: {'e' * 2_001}}}"),
            3,
            "longer than 2000 characters",
        ),
        (value("{css: ' '}"), 4, "the selector is empty; quote"),
        (value("{css: " + "a" * 2_001 + "}"), 4, "at most 2000 characters"),
        (value("{text: '" + "{url}" * 101 + "'}"), 4, "more than 50 places"),
        (rule("type: {css: a, as: literal}"), 4, "a type is an IRI"),
        ("rules:\n a: b", 2, "rule a: a rule is a mapping"),
        ("rules: {}", 1, "there are no rules"),
        ("rule: {}", 1, "'rule' is unknown in a rule file"),
        ("", 1, "`rules` is missing"),
        ("- a", 1, "a rule file is a mapping"),
        ("prefixes: {x y: 'http://a/'}\n" + RULE, 1, "'x y' is not a prefix"),
        ("prefixes: {x: a}\n" + RULE, 1, "'a' is not an IRI"),
        ("a: b\n c: d", 2, "not YAML: mapping values are not allowed here"),
        ("a:\n  - b\n c: [", 3, "not YAML"),
        ("a: *b", 1, "not YAML: found undefined alias"),
        ("--- a\n--- b", 2, "not YAML: but found another document"),
        ("a: !!python/object/apply:os.system ['true']", 1, "tags have no meaning"),
        ("a: !x b", 1, "tags have no meaning"),
        ("? [a]\n: b", 1, "a key must be text"),
        ("a: &b [*b]", 1, "nested deeper"),
        ("a:\n  <<: b", 2, "<< takes a mapping"),
        ("a: " + "[" * 50_000, 1, "nested too deep"),
        ("a: " + "[" * 100 + "]" * 100, 1, "nested deeper than 40 levels"),
        (b"a:\n  b: \xff", 2, "not UTF-8"),
        ("a:\n b: \x07", 2, "character U+0007"),
    ],
)
def test_errors_name_file_line_and_rule(
    read: Load, text: str | bytes, line: int, message: str
) -> None:
    """If a file is wrong, one line says where and why."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    error = str(caught.value)
    assert re.match(rf"\S*r\.yaml:{line}: ", error)
    assert message in error
    assert "\n" not in error
    assert len(error) < 1_000


def test_nesting_is_bounded(read: Load) -> None:
    """If resources are nested too deep, the rule is refused."""
    nested = "{properties: {dct:relation: " * 8 + "h1" + "}}" * 8
    with pytest.raises(ConfigError, match="nested deeper than 8"):
        read(value(nested))


def test_aliases_are_bounded(read: Load) -> None:
    """If aliases multiply, the file is refused before memory is full."""
    levels = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    levels.insert(0, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]")
    with pytest.raises(ConfigError, match=f"more than {MAX_NODES} values"):
        read("\n".join(levels))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """If there is not a file, none in the folder, or it is too long, it is said."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_rules(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_rules(Path("a\0b"))
    with pytest.raises(ConfigError, match="has no rule files"):
        load_rules(tmp_path)
    (tmp_path / "a.yml").write_bytes(b"#" * (load.MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="longer than"):
        load_rules(tmp_path)
    for number in range(load.MAX_FILES):
        (tmp_path / f"{number}.yml").touch()
    with pytest.raises(ConfigError, match=f"more than {load.MAX_FILES} rule files"):
        load_rules(tmp_path)


# -- rules that are read --------------------------------------------------------------


def test_folders_in_the_order_of_names(tmp_path: Path) -> None:
    """If a folder is given, its files are read in order, and nothing else in it."""
    for name in ("b.yaml", "a.yml", "c.txt"):
        (tmp_path / name).write_text(RULE.replace(" a:", f" {name[0]}:"))
    rules = load_rules(tmp_path)
    assert [(x.name, str(x.place)) for x in rules.rules] == [
        ("a", f"{tmp_path}/a.yml:2"),
        ("b", f"{tmp_path}/b.yaml:2"),
    ]
    assert rules
    assert not rules.refused


def test_merge_keys(read: Load) -> None:
    """If a rule merges others, its own keys go before theirs."""
    rules = read(
        """
rules:
  a: &a
    match: a.example
    type: dcat:Dataset
    properties: {dct:title: h1}
  b:
    <<: [*a, {match: c.example, links: {next: a}}]
    match: b.example
"""
    )
    assert [x.name for x in rules.matching("https://b.example/")] == ["b"]
    resource = rules.rules[1].resource
    assert resource is not None
    assert [x.label for x in resource.properties] == ["type", "dct:title"]
    assert rules.rules[1].links


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("e.example", "http://e.example/a/b?c", "http://f.example/"),
        ("E.example/A", "https://e.example/A", "https://e.example/a"),
        ("http://e.example/*", "http://e.example/a?b", "https://e.example/a"),
        ("e.example/*/x", "http://e.example/a/x", "http://e.example/a/b/x"),
        ("e.example/**/x", "http://e.example/a/b/x", "http://e.example/x/"),
        ("*.example/", "http://a.b.example/", "http://example/"),
        ("e.example:8080/", "http://e.example:8080/", "http://e.example/"),
        ("e.example/a.b(", "http://e.example/a.b(", "http://e.example/aab("),
        ("e.example/**", "http://e.example/a", f"http://e.example/{'a' * 3000}"),
    ],
)
def test_patterns(read: Load, pattern: str, matching: str, other: str) -> None:
    """If the full URL fits a pattern, the rule applies to it."""
    rules = read(RULE.replace("e.example", f"'{pattern}'"))
    assert rules.matching(matching)
    assert not rules.matching(other)


def test_rules_in_order_and_what_they_captured(read: Load) -> None:
    """If several rules match, they keep their order, with parts of the URL."""
    rules = read(
        """
rules:
  any: {match: {regex: ".*"}, links: {next: a}}
  one: {match: [e.example/x, {regex: ".*/(?P<id>.*)"}], links: {next: a}}
  none: {match: f.example, links: {next: a}}
"""
    )
    assert [
        (x.name, dict(x.captured)) for x in rules.matching("http://e.example/y")
    ] == [
        ("any", {}),
        ("one", {"id": "y"}),
    ]
    assert [x.name for x in rules.matching("")] == ["any"]


@pytest.mark.parametrize("star", ["*", "**"])
def test_a_glob_of_many_stars_ends(star: str) -> None:
    """If a URL is as long as can be, a glob with all its stars still ends."""
    pattern = glob("e.example/" + f"{star}a" * 5 + f"{star}b")
    assert pattern.match("http://e.example/" + "a" * 2_000) is None
    assert pattern.match("http://e.example/" + "a" * 2_000 + "b") is not None
    assert pattern.match("http://e.example/" + "a" * MAX_URL_CHARS) is None


@settings(max_examples=examples(500))
@given(
    pattern=st.lists(st.sampled_from(["a", "b", "/", "*", "**"]), max_size=9),
    path=st.text("ab/", max_size=12),
)
def test_globs_mean_what_they_say(pattern: list[str], path: str) -> None:
    """If a glob is compiled, it matches the text that its stars stand for."""
    text = re.sub(r"\*{3,}", "**", "".join(pattern))
    if len(re.findall(r"\*+", text)) > 6:
        return
    plain = re.sub(r"\*\*?", lambda x: ".*" if x[0] == "**" else "[^/]*", text)
    wanted = re.fullmatch(plain, path) is not None
    found = glob(f"e.example/{text}").match(f"http://e.example/{path}")
    assert (found is not None) is wanted


# -- fuzz -----------------------------------------------------------------------------

_WORDS = [
    "match", "items", "subject", "type", "fields", "properties", "links", "css",
    "xpath", "json", "text", "iri", "template", "pattern", "map", "as", "datatype",
    "language",
    "required", "first", "split", "attribute", "next", "regex", "dct:title", "^dct:a",
    "e.example/*", "//a", "a.b", "{url}#x", "{+value}", "true", "(?P<x>a)", "h1", "",
    "file_descriptor", "check", "domain", "resources", "$uri", "$uri*", "l(x*)",
    "l(a)+b", "attr(href:a)", "tr:contains(x y) td:eq(0)", "http://a/$label", "[a~=b]",
]  # fmt: skip
_trees = st.recursive(
    st.sampled_from(_WORDS) | st.text(max_size=6),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), x),
    max_leaves=15,
)


@settings(max_examples=examples(200), deadline=None)
@given(tree=_trees, is_squirrel=st.booleans())
def test_fuzz_trees(
    tree: object, is_squirrel: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """If a rule is any tree of YAML, it is read or refused by name."""
    import yaml

    if is_squirrel:
        tree = {"file_descriptor": {"check": {"domain": "e.example"}, "a": tree}}
    else:
        tree = {"rules": {"a": tree}}
    path = tmp_path_factory.getbasetemp() / "tree.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    _load_or_refuse(path)


_yaml = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_edits = st.binary(max_size=3) | st.sampled_from([b"{", b"[", b": ", b"&a *a"])


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), edits=st.lists(_edits))
def test_fuzz_bytes(
    data: st.DataObject, edits: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """If bytes of the documented rules are changed, they are read or refused."""
    page = read_page("scraping.md")
    files = [text.encode() for text in _yaml.findall(page)]
    content = data.draw(st.sampled_from(files))
    for edit in edits:
        at = data.draw(st.integers(0, len(content)))
        content = content[:at] + edit + content[at + len(edit) :]
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(content)
    _load_or_refuse(path)


def _load_or_refuse(path: Path) -> None:
    try:
        rules = load_rules(path)
    except ConfigError as error:
        assert str(error).startswith(f"{path}:")  # noqa: PT017
    else:
        assert rules.rules or rules.refused
        rules.matching("http://e.example/a")
