"""Tests of `rdfcrawl.uri.page_forms`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.uri.page_forms import page_form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/p/12", "/p/7"),
        ("/product/oak-lamp/", "/product/tin-box-3/"),
        ("/media/2024/05/a.jpg", "/media/2023/11/b9.jpg"),
        ("/search?q=lamp%20oak&page=2", "/search?page=17&q=box%20of%20tin"),
        ("/dataset/a-1/resource/1f0", "/dataset/a-2/resource/9e1"),
    ],
)
def test_pages_of_a_template_have_one_form(one: str, other: str) -> None:
    """If two URLs differ in numbers, names and values alone, then their forms agree."""
    assert page_form(f"http://a.example{one}") == page_form(f"http://a.example{other}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/p/12", "/c/12"),
        ("/p/12", "/p/12/"),
        ("/p/a.jpg", "/p/a.ttl"),
        ("/index.php?route=cart&id=1", "/index.php?route=item&id=1"),
        ("/search?q=1", "/search"),
        ("/p/12/reviews", "/p/12"),
    ],
)
def test_pages_of_templates_have_forms(one: str, other: str) -> None:
    """If two URLs differ in their words, then their narrow forms differ."""
    forms = [page_form(f"http://a.example{each}").narrow for each in (one, other)]
    assert forms[0] != forms[1]


@given(st.text(alphabet="ab1/?&=.-%", max_size=300))
def test_forms_are_short_and_coarse(rest: str) -> None:
    """If a URL has any path and query, then its forms are short, and have no numbers.

    Of two URLs with one narrow form, the wide form is one, too.
    """
    form = page_form(f"http://a.example/{rest}")
    assert max(map(len, form)) <= 100
    again = page_form(f"http://a.example/{rest.replace('1', '27')}")
    assert form.narrow != again.narrow or form.wide == again.wide
