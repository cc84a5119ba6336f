"""Answers of the action API: read, refused or damaged, and always said which."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.sources.ckan import envelope
from rdfcrawl.sources.ckan.envelope import (
    CkanResponse,
    DamagedResponse,
    RequestRefused,
    read_names,
    read_package,
    read_page,
)
from tests.support.examples import examples

PACKAGES = [{"id": f"i{n}", "name": f"n{n}", "notes": 'a "]}, b'} for n in range(4)]


def answer(value: object, status: int = 200, url: str = "") -> CkanResponse:
    """Return a response with this JSON, or these bytes."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return CkanResponse(status=status, body=body, url=url)


def page_of(*packages: Any, **more: Any) -> dict[str, Any]:
    """Return an envelope of `package_search`."""
    result = {"count": len(packages), "results": packages, **more}
    return {"help": "h", "success": True, "result": result}


@pytest.mark.parametrize("space", [None, 2])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf", b" \r\n\t"])
def test_a_page_in_any_order_of_members(space: int | None, bom: bytes) -> None:
    """If members come in any order and spacing, then the page is the same."""
    value = page_of(*PACKAGES, facets={"a": [1]}, sort=None)
    turned = {
        "result": dict(reversed(value["result"].items())),
        "success": True,
        "help": {"nested": [{"results": [1]}]},
    }
    for one in (value, turned):
        body = bom + json.dumps(one, indent=space).encode()
        page = read_page(CkanResponse(status=200, body=body))
        assert page.count == page.n_rows == 4
        assert page.damage == ""
        assert [package.load() for package in page.packages] == PACKAGES


def test_a_plain_list_is_a_page_without_count() -> None:
    """If `result` is the list itself, then it is read and no count is invented."""
    page = read_page(answer({"success": True, "result": PACKAGES}))
    assert (page.count, page.n_rows) == (None, 4)
    empty = read_page(answer({"success": True, "result": []}))
    assert (empty.count, empty.n_rows) == (None, 0)


def test_rows_that_are_no_datasets_count_as_rows() -> None:
    """If rows are other things, then they are passed over and still counted."""
    page = read_page(answer(page_of(None, 3, {"title": "x"}, PACKAGES[0], [])))
    assert (page.n_rows, [one.id for one in page.packages]) == (5, ["i0"])


@pytest.mark.parametrize("count", ["12", -1, 1.5, True, None, {}])
def test_a_count_of_another_type_is_none(count: object) -> None:
    """If the count is not a natural number, then there is none."""
    assert read_page(answer(page_of(PACKAGES[0], count=count))).count is None


@pytest.mark.parametrize(
    ("body", "status", "kind", "told"),
    [
        (
            {"success": False, "error": {"__type": "Not Found Error", "message": "No"}},
            404,
            "Not Found Error",
            "No",
        ),
        ({"success": False, "error": {"__type": "X", "q": ["bad"]}}, 409, "X", "bad"),
        ({"success": False}, 200, "", "null"),
        ({"error": "broken"}, 500, "", "broken"),
        ("Bad request - Action name not known: x", 400, "", "not known"),
        ("Bad request", 200, "", "Bad request"),
        (b"<html><title>404", 404, "", "a page or XML"),
        (b"<html><input type='password'>", 403, "", "a login page"),
        (b"Internal Server Error", 500, "", "Internal"),
        (b"", 502, "", "empty"),
        (b"", 0, "", "empty"),
        ([1], 403, "", "[1]"),
        (page_of(), 500, "", "success reported with this status"),
    ],
)
def test_a_refusal_says_why(body: object, status: int, kind: str, told: str) -> None:
    """If the portal refuses, then the fault has status, kind and message."""
    for read in (read_page, read_names, read_package):
        with pytest.raises(RequestRefused) as caught:
            read(answer(body, status))
        assert (caught.value.status, caught.value.kind) == (status, kind)
        assert told in caught.value.fault.detail
        assert caught.value.fault.reason is Reason.BAD_ANSWER


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "empty response"),
        (b" \n", "empty response"),
        (b"<!DOCTYPE html><p>Welcome", "a page or XML instead of JSON"),
        (b"<form><input type=password>", "a login page"),
        (b'{"success": true, "resu', "truncated JSON"),
        (
            b'{"success": true, "result": {"count": 3, "results": [{"id": "a',
            "truncated JSON",
        ),
        (b"not json", "not JSON"),
        (b"{'success': True}", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "a list instead of an object"),
        (b"null", "null instead of an object"),
        (b'{"a": 1}', "an object without result"),
        (b'{"success": "yes", "result": []}', "success is a string"),
        (b'{"success": true, "result": 3}', ""),
        (b'{"success": true, "result": {"count": 1}}', ""),
        (b"\xff\xfe\x00", "not JSON"),
        (b"9" * 10_000, ""),
    ],
)
def test_what_is_damaged_is_named(body: bytes, told: str) -> None:
    """If a response is not from the API, then the fault describes it."""
    for read in (read_page, read_names, read_package):
        with pytest.raises(DamagedResponse) as caught:
            read(answer(body))
        assert told in caught.value.fault.detail
        assert caught.value.is_cut == ("truncated JSON" in told)


def test_a_redirect_to_a_login_is_named() -> None:
    """If the final URL is a login, then that is said."""
    with pytest.raises(DamagedResponse, match="login page"):
        read_page(answer(b"<html>", url="https://h/user/login?came_from=/api"))


@pytest.mark.parametrize("at", range(118, 260, 7))
def test_truncated_page_keeps_complete_rows(at: int) -> None:
    """If a page is cut anywhere, then the datasets before the cut are kept."""
    body = json.dumps(page_of(*PACKAGES)).encode()[:at]
    page = read_page(answer(body))
    assert page.damage
    assert [one.load() for one in page.packages] == PACKAGES[: page.n_rows]
    assert page.n_rows >= (at - 65) // 55 - 1


def test_what_follows_the_answer_is_not_read() -> None:
    """If a server appends to its JSON, then the page is still complete."""
    body = json.dumps(page_of(*PACKAGES)).encode() + b"\n<!-- 0.2 s -->"
    page = read_page(answer(body))
    assert (page.damage, page.n_rows) == ("", 4)


def test_names_are_texts() -> None:
    """If a list of names holds other things, then it is not one."""
    assert read_names(answer({"success": True, "result": ["a", "b"]})) == ["a", "b"]
    for other in ([1], [""], [None, "a"], "a", {"a": 1}, None):
        with pytest.raises(DamagedResponse):
            read_names(answer({"success": True, "result": other}))


def test_one_dataset() -> None:
    """If `result` is a dataset, then it is read in place."""
    value = {"result": {**PACKAGES[0], "metadata_modified": "2020"}, "success": True}
    package = read_package(answer(value))
    assert (package.id, package.modified, package.state) == ("i0", "2020", "active")
    assert package.load() == value["result"]
    others: list[object] = [[], "a", {}, {"title": "x"}, None]
    for other in others:
        with pytest.raises(DamagedResponse):
            read_package(answer({"success": True, "result": other}))


def test_an_answer_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a response is longer than the limit, then it is refused by name."""
    monkeypatch.setattr(envelope, "MAX_RESPONSE_BYTES", 100)
    with pytest.raises(SourceFault) as caught:
        read_page(answer(page_of(*PACKAGES)))
    assert caught.value.fault.reason is Reason.TOO_LARGE


@given(
    st.integers(0, 400),
    st.integers(0, 20),
    st.binary(max_size=6),
    st.sampled_from([200, 403, 500]),
)
@settings(max_examples=examples(400), deadline=None)
def test_any_damage_is_survived(at: int, n: int, new: bytes, status: int) -> None:
    """If bytes of a response are changed anywhere, then there is a page or a fault."""
    body = json.dumps(page_of(*PACKAGES)).encode()
    mutated = answer(body[:at] + new + body[at + n :], status)
    for read in (read_page, read_names, read_package):
        try:
            found = read(mutated)
        except SourceFault:
            continue
        if isinstance(found, envelope.DatasetPage):
            assert all(isinstance(one.load(), dict) for one in found.packages)
