"""Forms of URLs: pages of a host that one template of its software makes, presumably.

Two forms of each URL: the narrow one is that of few URLs, the wide one of many.
`traps.form_of` is for traps, and `retry_policy.sibling_path` for refused requests.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from zlib import crc32

_MAX_CHARS: Final = 100
_numbers = re.compile(r"[0-9]+").sub
_is_numbered = re.compile(r"([A-Za-z]{0,12}[_-]?)[0-9]+").fullmatch
_has_number = re.compile(r"[0-9]").search
_is_extension = re.compile(r"[A-Za-z][A-Za-z0-9]{0,4}").fullmatch
_is_word = re.compile(r"[A-Za-z][A-Za-z_/-]{0,20}").fullmatch


class PageForm(NamedTuple):
    """The forms of a URL, without scheme and host; at most 100 characters each."""

    narrow: str
    wide: str


def page_form(url: str) -> PageForm:
    """Return the forms of an absolute URL.

    Numbers become `#`, and the last segment of a path `*`, before its extension. The
    narrow form keeps the other segments and the values of parameters that are words,
    the wide form the first segment and the names of parameters.

    >>> page_form("https://shop.example/p/12")
    PageForm(narrow='/p/#', wide='/p/*')
    >>> page_form("https://shop.example/media/2024/lamps/oak-lamp.jpg")
    PageForm(narrow='/media/#/lamps/*.jpg', wide='/media/*/*/*.jpg')
    >>> page_form("https://shop.example/index.php?route=cart&id=7")
    PageForm(narrow='/index.php?id=#&route=cart', wide='/index.php?id&route')
    """
    rest, has_query, query = url.partition("?")
    path = rest[rest.find("/", rest.find("://") + 3) :] if "://" in rest else rest
    slash = "/" if len(path) > 1 and path.endswith("/") else ""
    *folders, last = path.removesuffix(slash).split("/")
    folders = [_numbers("#", each) for each in folders]
    last_names = (_numbers("#", last),) * 2 if has_query else _last(last)
    narrow = "/".join((*folders, last_names[0])) + slash
    wide = "/".join((*folders[:2], *("*" for _ in folders[2:]), last_names[1])) + slash
    if has_query:
        pairs = sorted(each.partition("=")[::2] for each in query.split("&") if each)
        values = (f"{_numbers('#', name)}={_value(x)}" for name, x in pairs)
        names = dict.fromkeys(_numbers("#", name) for name, _ in pairs)
        narrow, wide = f"{narrow}?{'&'.join(values)}", f"{wide}?{'&'.join(names)}"
    return PageForm(_short(narrow), _short(wide))


def _last(segment: str) -> tuple[str, str]:
    """Return the narrow and the wide form of the last segment of a path."""
    name, _, extension = segment.rpartition(".")
    if name and _is_extension(extension):
        return (f"*.{extension}",) * 2
    if numbered := _is_numbered(segment):
        return f"{numbered[1]}#", "*"
    return ("*", "*") if segment else ("", "")


def _value(text: str) -> str:
    if _is_word(text):
        return text
    return "#" if _has_number(text) else "*" * bool(text)


def _short(form: str) -> str:
    if len(form) <= _MAX_CHARS:
        return form
    return f"{form[: _MAX_CHARS - 9]}~{crc32(form.encode()):08x}"
