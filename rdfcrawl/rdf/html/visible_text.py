"""Extract the visible text of a page from its bytes, without parsing."""

from __future__ import annotations

import re
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

FEW_WORDS: Final = 50
LEAST_LINKS: Final = 20  # of a page that may be a table of contents
_find_images = re.compile(rb"<(?:img|svg)[\s/>]").findall
_begins_with_link = re.compile(rb"[^<>]*?\bhref\b").match


def visible_text(lower: bytes) -> str:
    """Return the text of a page without tags and hidden elements.

    Style sheets are ignored. `lower` is the page in UTF-8 and in lower case.

    >>> visible_text(b"<title>t</title>one&nbsp;<b>two</b><script>3</script>").split()
    ['one', 'two']
    """
    return _text_of(b">" + _remove_unseen(b"<p>", lower))


def _text_of(shown: bytes) -> str:
    text = b" ".join(_find_texts(shown)).decode("utf-8", "replace")
    return unescape(text) if "&" in text else text


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


def count_linked_words(lower: bytes) -> int:
    """Return the number of words within links if a page has many links; else 0.

    Many are `LEAST_LINKS` elements `a` with `href`. `lower` is that of `visible_text`.

    >>> count_linked_words(b"one <a href=x>two <b>three</b></a>" * 20)
    40
    >>> count_linked_words(b"one <a href=x>two <b>three</b></a>" * 19)
    0
    """
    if lower.count(b"href") < LEAST_LINKS:  # cheap, and true for most pages
        return 0
    elements = _remove_unseen(b"<p>", lower).split(b"<a")[1:]
    links = [
        each.partition(b"</a")[0]
        for each in elements
        if each[:1].isspace() and _begins_with_link(each)
    ]
    if len(links) < LEAST_LINKS:
        return 0
    return len(_text_of(b"<a" + b"<a".join(links)).split())
