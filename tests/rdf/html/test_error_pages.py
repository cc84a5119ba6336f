"""Error pages are distinguished from pages about errors."""

from __future__ import annotations

import pytest

from rdfcrawl.rdf.html.visible_text import is_error_page, visible_text


def is_error(page: str) -> bool:
    """Return the judgement of a page."""
    lower = page.encode().lower()
    return is_error_page(lower, visible_text(lower))


@pytest.mark.parametrize(
    "said",
    [
        "404 Not Found",
        "404",
        "Error 404 (Not Found)!!1",
        "404 - File or directory",
        "HTTP 410",
        "Page not found | Example",
        "The requested page could not be found",
        "This page is no longer available",
        "That page doesn\u2019t exist",
        "Nothing here",
        "Seite nicht gefunden",
        "Fehler 404",
        "Page introuvable",
        "P\u00e1gina no encontrada",
        "Pagina non trovata",
        "P\u00e1gina n\u00e3o encontrada",
        "Pagina niet gevonden",
        "\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u043e",
        "\u9875\u9762\u4e0d\u5b58\u5728",
        "\u30da\u30fc\u30b8\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093",
    ],
)
def test_pages_that_say_so_are_errors(said: str) -> None:
    """If title, heading or all of a short page say so, then it is an error page."""
    menu = "<p>" + "menu " * 400
    assert is_error(f"<title>{said}</title>{menu}")
    assert is_error(f"<title>Example</title><h1 class=a>{said}</h1>{menu}")
    assert is_error(f"<title>Example</title><p>{said}</p>")
    assert not is_error(f"<title>Example</title>{menu}{said}")
    assert not is_error(f"<title>{said}</title>" + "<p>an article " * 400)


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<title>Peugeot 404</title><p>A car.",
        "<title>Room 404</title>",
        "<title>How we found it</title><p>It exists.",
        "<title>Example<p>" + "word " * 200,  # has no end
        "<title",
    ],
)
def test_other_pages_are_no_errors(page: str) -> None:
    """If a page says something else, then it is none."""
    assert not is_error(page)
