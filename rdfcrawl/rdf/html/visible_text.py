"""Extract the visible text of a page from its bytes, and detect error pages."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import Final

_UNSEEN: Final = rb"script", rb"style", rb"template", rb"noscript", rb"title"
# Each expression is linear: an unterminated element extends to the end of the page, and
# a tag ends before the next one begins. Possessive loops that search for one character
# are several times as fast as `.*?`.
_remove_unseen = re.compile(
    rb"<(?:!--(?:[^-]++|-(?!->))*+(?:-->)?+|%b)"
    % rb"|".join(
        rb"%b\b[^<>]*+>(?:[^<]++|<(?!/%b\s*+>))*+" % (name, name) for name in _UNSEEN
    )
).sub
# The text after each tag; most tags have none. `<` only begins a tag before certain
# characters (HTML Standard 13.2.5.6).
_find_texts = re.compile(rb">(?!<[a-z/!?])([^<]*+(?:<[^a-z/!?][^<]*+)*+)").findall

# The references that `html.unescape` replaces, one by one.
_replace_references = re.compile(
    r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"
).sub

FEW_WORDS: Final = 50
LEAST_LINKS: Final = 20  # of a page that may be a table of contents
_find_images = re.compile(rb"<(?:img|svg)[\s/>]").findall
# Links, up to the next tag that begins as one of links does.
_find_links = re.compile(
    rb"<a(?=\s)((?:[^<>h]++|h(?!ref\b)|(?<=\w)h)*+href\b(?:[^<]++|<(?!/?a))*+)"
).findall
_replace_huge = re.compile(r"&#[0-9]{1000,}+;?").sub


def shown_markup(lower: bytes) -> bytes:
    """Return a page without hidden elements; style sheets are ignored.

    `lower` is the page in UTF-8 and in lower case.
    """
    return _remove_unseen(b"<p>", lower)


def visible_text(lower: bytes) -> str:
    """Return the text of a page without tags and hidden elements.

    `lower` is that of `shown_markup`.

    >>> visible_text(b"<title>t</title>one&nbsp;<b>two</b><script>3</script>").split()
    ['one', 'two']
    """
    return text_of(shown_markup(lower))


def text_of(shown: bytes) -> str:
    """Return the text of `shown_markup`."""
    text = b" ".join(_find_texts(b">" + shown)).decode("utf-8", "replace")
    return _replace_references(_replaced, text) if "&" in text else text


def unescaped(text: str) -> str:
    r"""Return a text with characters in place of references to them.

    `html.unescape` fails at numbers of more than 4300 digits. They are no characters.

    >>> ascii(unescaped("&lt;&#" + "9" * 5000 + ";"))
    "'<\\ufffd'"
    """
    try:
        return unescape(text)
    except ValueError:
        return unescape(_replace_huge("\ufffd", text))


_character = lru_cache(maxsize=1024)(unescaped)
_LONGEST_KEPT: Final = 40  # characters; longer than all named references


def _replaced(reference: re.Match[str]) -> str:
    """Return the character of a reference; a page has few different ones."""
    text = reference[0]
    return _character(text) if len(text) <= _LONGEST_KEPT else unescaped(text)


def count_images(lower: bytes, text: str) -> int:
    """Return the number of `img` and `svg` if a page has few words; else 0.

    Few are less than `FEW_WORDS`. `lower` and `text` are those of `visible_text`.

    >>> count_images(b"<img src=a>one<noscript><img src=b></noscript>", "one")
    1
    >>> count_images(b"<img src=a>", "word " * 50)
    0
    """
    if len(text.split(None, FEW_WORDS)) >= FEW_WORDS:
        return 0
    return len(_find_images(_remove_unseen(b"", lower)))


def count_linked_words(shown: bytes) -> int:
    """Return the number of words within links if a page has many links; else 0.

    Many are `LEAST_LINKS` elements `a` with `href`. `shown` is the `shown_markup`.

    >>> count_linked_words(b"one <a href=x>two <b>three</b></a>" * 20)
    40
    >>> count_linked_words(b"one <a href=x>two <b>three</b></a>" * 19)
    0
    """
    if shown.count(b"href") < LEAST_LINKS:  # cheap
        return 0
    links = _find_links(shown)
    if len(links) < LEAST_LINKS:
        return 0
    return len(text_of(b"<a" + b"<a".join(links)).split())


_MOST_CHARS: Final = 4000  # of an error page with the menus of its site, 500 words
_FEW_CHARS: Final = 300  # of an error page without other content
_MAX_TITLE_BYTES: Final = 300
_NUMBER: Final = (
    r"\b(?:error|http|status|code|fehler|erreur)\W{0,3}4(?:04|10)\b"
    r"|\b4(?:04|10)\W{1,3}(?:error|page|file|not|nicht|non)\b"
    r"|^\W*4(?:04|10)\W*$"
)
# Pairs of literal and expression: the expression only runs if the literal is found,
# for a tenth of the cost.
_PHRASES: Final = tuple(
    (part, re.compile(phrase).search)
    for part, phrase in (
        ("404", _NUMBER),
        ("410", _NUMBER),
        ("not found", r"\bnot found\b"),
        ("e found", r"\bnot be found\b"),
        ("no such", r"\bno such (?:page|document|file)\b"),
        ("no longer", r"\bno longer (?:available|exists?|here)\b"),
        ("not exist", r"\bdoes not exist\b"),
        ("t exist", r"\bdoesn.t exist\b"),
        ("nothing ", r"\bnothing (?:was |is )?(?:found|here)\b"),
        ("page ", r"\bpage (?:is |was )?(?:missing|gone|removed|unavailable)\b"),
        ("nicht", r"\bnicht (?:mehr )?(?:gefunden|vorhanden)\b|\bexistiert nicht\b"),
        ("introuvable", r"\bintrouvable\b"),
        ("existe", r"\bn.existe (?:pas|plus)\b|\bno existe\b"),
        ("non trouv", r"\bnon trouv\xe9e?\b"),
        ("encontrad", r"\b(?:no|n\xe3o) (?:se )?(?:ha sido |foi )?encontrad[ao]\b"),
        ("non trovat", r"\bnon trovat[ao]\b"),
        ("non esiste", r"\bnon esiste\b"),
        ("niet gevonden", r"\bniet gevonden\b"),
        ("nie znaleziono", r"\bnie znaleziono\b"),
        ("\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d", ""),  # Russian
        ("\u627e\u4e0d\u5230", ""),  # Chinese
        ("\u672a\u627e\u5230", ""),
        ("\u4e0d\u5b58\u5728", ""),
        ("\u898b\u3064\u304b\u308a\u307e\u305b\u3093", ""),  # Japanese
    )
)
_OPENINGS: Final = (b"<title", b"</title"), (b"<h1", b"</h1")


def is_error_page(lower: bytes, text: str) -> bool:
    """Return whether a page reports that the requested page does not exist.

    Its title or first heading says "404", "Not found" or the like in one of a dozen
    languages, and the page has at most some 500 words; or it has no other content.

    Args:
        lower: the page in UTF-8, ASCII in lower case.
        text: the result of `visible_text`.

    >>> is_error_page(b"<title>error 404</title>", "go home")
    True
    >>> is_error_page(b"<title>peugeot 404</title>", "a car")
    False
    """
    if len(text) > _MOST_CHARS:
        return False
    if len(text) <= _FEW_CHARS and _is_about_error(text):
        return True
    return any(_is_about_error(_inner(lower, *each)) for each in _OPENINGS)


def _is_about_error(text: str) -> bool:
    for part, search in _PHRASES:  # noqa: SIM110 (a generator takes twice the time)
        if part in text and search(text):
            return True
    return False


def _inner(lower: bytes, opening: bytes, end: bytes) -> str:
    """Return the beginning of the text of the first such element."""
    begin = lower.find(opening)
    if begin < 0:
        return ""
    begin = lower.find(b">", begin, begin + _MAX_TITLE_BYTES) + 1
    last = begin + _MAX_TITLE_BYTES
    stop = lower.find(end, begin, last)
    found = lower[begin : stop if stop >= 0 else last]
    return found.decode("utf-8", "replace")
