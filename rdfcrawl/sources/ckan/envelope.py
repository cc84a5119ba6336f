"""Responses of the action API: `{"success": …, "result": …}`.

The datasets of a page are located first and decoded one by one afterwards, so that a
page takes the memory of its text and of one dataset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import Reason, SourceFault

MAX_ANSWER_BYTES: Final = 64 * 2**20

_SPACE = re.compile(r"[ \t\r\n]*")
_LOGIN = re.compile(
    r"type=[\"']?password|/(?:user/)?log_?in\b|\bsign[ -]in\b", re.IGNORECASE
)
_UNREADABLE = (ValueError, RecursionError)  # of `json`; also a number too long
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanAnswer:
    """A response of a portal."""

    status: int  # of HTTP; 0 if there was no answer in time
    # decoded; at most `MAX_ANSWER_BYTES` of it are read
    body: bytes = field(default=b"", repr=False)
    url: str = ""  # after redirects


class RequestRefused(SourceFault):
    """The portal answered, and refuses the request.

    `kind` is `__type` of CKAN's error, as `Authorization Error`; empty if unknown.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        told = ": ".join(filter(None, (f"HTTP {status}", kind, message)))
        super().__init__(Reason.BAD_ANSWER, told)
        self.status, self.kind = status, kind


class DamagedAnswer(SourceFault):
    """The body is none of the API: a page, cut off (`is_cut`), or of another shape."""

    def __init__(self, detail: str, *, is_cut: bool = False) -> None:
        super().__init__(Reason.BAD_ANSWER, detail)
        self.is_cut = is_cut


@dataclass(frozen=True, slots=True)
class PackageText:
    """One dataset in the text of an answer, not yet read."""

    id: str  # permanent; the name if there is none
    name: str  # as in the URL of the dataset
    modified: str  # `metadata_modified` as the portal wrote it, or empty
    state: str  # `active`, `deleted`, …; `active` if the portal does not say
    _text: str = field(repr=False, compare=False)
    _begin: int = field(repr=False, compare=False)

    def load(self) -> dict[str, Any]:
        """Return all that the portal says of the dataset."""
        package: dict[str, Any] = _DECODER.raw_decode(self._text, self._begin)[0]
        return package


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPage:
    """A page of datasets."""

    count: int | None  # rows that match, of all pages; None if the portal does not say
    n_rows: int  # rows of this page, those that are no datasets included
    packages: tuple[PackageText, ...]  # in the order of the page
    damage: str = ""  # what ended the reading early; empty if all was read


def read_result(answer: CkanAnswer) -> Any:
    """Return the value of `result`.

    Raises:
        RequestRefused: the portal says that the request failed.
        DamagedAnswer: the body is none of the API.
    """
    text = _text(answer)
    try:
        envelope = json.loads(text)
    except _UNREADABLE as error:
        _raise_unreadable(answer, text, error)
    result = _opened(answer, envelope)
    _check_status(answer)
    return result


def read_page(answer: CkanAnswer) -> DatasetPage:
    """Return the datasets of a response of `package_search`, or of a plain list.

    Rows before the text ends or breaks are kept: see `DatasetPage.damage`.

    Raises:
        RequestRefused: the portal says that the request failed.
        DamagedAnswer: the body is none of the API, and nothing was read.
    """
    text = _text(answer)
    walk = _Walk(text)
    damage = ""
    try:
        walk.envelope()
    except _UNREADABLE as error:
        if not walk.packages:
            _raise_unreadable(answer, text, error)
        damage = f"cut off or broken after {counted(walk.n_rows, 'row')}: {error}"
    if not damage:
        _opened(answer, walk.members)
    _check_status(answer)
    if not (damage or walk.has_rows):
        raise DamagedAnswer("result has no list of datasets")
    count = walk.count
    is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    return DatasetPage(
        count=count if is_count else None,
        n_rows=walk.n_rows,
        packages=tuple(walk.packages),
        damage=damage,
    )


def read_package(answer: CkanAnswer) -> PackageText:
    """Return the dataset of a response of `package_show`.

    Raises:
        RequestRefused: there is none, or the portal does not show it.
        DamagedAnswer: the body is none of the API.
    """
    package = _package(read_result(answer), "", 0)
    if package is None:
        raise DamagedAnswer("result is no dataset")
    text = answer.body.decode("utf-8-sig", "replace")
    return replace(package, _text=text, _begin=_Walk(text).result_begin())


def read_names(answer: CkanAnswer) -> list[str]:
    """Return the names of a response of `package_list`.

    Raises:
        RequestRefused, DamagedAnswer: see `read_result`; also for no list of texts.
    """
    result = read_result(answer)
    if not isinstance(result, list):
        raise DamagedAnswer(f"result is {_kind(result)} where a list of names is due")
    names = [one for one in result if isinstance(one, str) and one.strip()]
    if len(names) < len(result):
        raise DamagedAnswer("the list of names holds other things")
    return names


class _Walk:
    """Walks through the text of a response without keeping decoded datasets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.members: dict[str, Any] = {}
        self.packages: list[PackageText] = []
        self.n_rows = 0
        self.count: Any = None
        self.has_rows = False
        self._end = 0

    def envelope(self) -> None:
        """Read all; raises what `json` does where the text breaks."""
        at = self._skip(0)
        if not self.text.startswith("{", at):
            self.members = {"": _DECODER.raw_decode(self.text, at)[0]}
            return
        for key, begin in self._members(at):
            first = self.text[begin : begin + 1] if key == "result" else ""
            if first == "{":
                self.members[key] = {}
                self._result(begin)
            elif first == "[":
                self.members[key] = []
                self._rows(begin)
            else:
                self.members[key], self._end = _DECODER.raw_decode(self.text, begin)

    def result_begin(self) -> int:
        """Return where the value of `result` begins; the text is known to be right."""
        for key, begin in self._members(self._skip(0)):
            if key == "result":
                return begin
            self._end = _DECODER.raw_decode(self.text, begin)[1]
        return 0

    def _result(self, at: int) -> None:
        for key, begin in self._members(at):
            if key == "results" and self.text.startswith("[", begin):
                self._rows(begin)
            else:
                value, self._end = _DECODER.raw_decode(self.text, begin)
                if key == "count":
                    self.count = value

    def _rows(self, at: int) -> None:
        self.has_rows = True
        for begin in self._items(at, "]"):
            value, self._end = _DECODER.raw_decode(self.text, begin)
            self.n_rows += 1
            package = _package(value, self.text, begin)
            if package is not None:
                self.packages.append(package)

    def _members(self, at: int) -> Iterator[tuple[str, int]]:
        """Yield key and begin of each value; whoever takes it sets `_end`."""
        for begin in self._items(at, "}"):
            key, end = _DECODER.raw_decode(self.text, begin)
            if not isinstance(key, str):
                raise json.JSONDecodeError("Expecting a name", self.text, begin)
            self._end = self._expect(":", self._skip(end))
            yield key, self._end

    def _items(self, at: int, closing: str) -> Iterator[int]:
        """Yield where each item begins; whoever takes it sets `_end`."""
        at = self._skip(at + 1)
        is_first = True
        while not self.text.startswith(closing, at):
            yield at if is_first else self._expect(",", at)
            is_first = False
            at = self._skip(self._end)
        self._end = at + 1

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _expect(self, char: str, at: int) -> int:
        if not self.text.startswith(char, at):
            raise json.JSONDecodeError(f"Expecting {char!r}", self.text, at)
        return self._skip(at + 1)


def _package(value: Any, text: str, begin: int) -> PackageText | None:
    """Return the dataset of a row; None if the row has neither name nor id."""
    if not isinstance(value, dict):
        return None
    name, own_id = _word(value.get("name")), _word(value.get("id"))
    if not (name or own_id):
        return None
    return PackageText(
        own_id or name,
        name or own_id,
        _word(value.get("metadata_modified")),
        _word(value.get("state")) or "active",
        text,
        begin,
    )


def _word(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _text(answer: CkanAnswer) -> str:
    """Return the text of a body, unless it is plainly no JSON."""
    if len(answer.body) > MAX_ANSWER_BYTES:
        raise SourceFault(Reason.TOO_LARGE, f"more than {MAX_ANSWER_BYTES} bytes")
    text = answer.body.decode("utf-8-sig", "replace")
    begin = text[:200].lstrip()
    if not begin:
        if answer.status >= 400 or not answer.status:
            raise RequestRefused(answer.status, "", "empty answer")
        raise DamagedAnswer("empty answer")
    if begin.startswith("<"):
        is_login = _LOGIN.search(text[:20_000]) or _LOGIN.search(answer.url)
        what = "a login page" if is_login else "a page or XML"
        if answer.status >= 400:
            raise RequestRefused(answer.status, "", f"{what} instead of JSON")
        raise DamagedAnswer(f"{what} instead of JSON: {answer.url}")
    return text


def _raise_unreadable(answer: CkanAnswer, text: str, error: BaseException) -> NoReturn:
    if answer.status >= 400:
        raise RequestRefused(answer.status, "", text[:100]) from None
    if isinstance(error, RecursionError):
        raise DamagedAnswer("JSON nested too deeply") from None
    whole = text.rstrip()
    is_cut = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(whole) or "Unterminated" in error.msg
    )
    what = "JSON that is cut off" if is_cut else "no JSON"
    raise DamagedAnswer(f"{what}: {error}", is_cut=is_cut) from None


def _opened(answer: CkanAnswer, envelope: Any) -> Any:
    """Return `result` of an envelope that states success."""
    if isinstance(envelope, dict) and envelope.keys() == {""}:
        envelope = envelope[""]  # of `_Walk`: no object
    if not isinstance(envelope, dict):
        # CKAN answers a bare text where it does not know the action.
        if answer.status >= 400 or isinstance(envelope, str):
            raise RequestRefused(answer.status, "", str(envelope)[:200])
        raise DamagedAnswer(f"{_kind(envelope)} where an object is due")
    success = envelope.get("success")
    if success is False or (success is None and "error" in envelope):
        error = envelope.get("error")
        kind = error.get("__type") if isinstance(error, dict) else ""
        message = error.get("message") if isinstance(error, dict) else error
        told = message if isinstance(message, str) else json.dumps(error)[:200]
        raise RequestRefused(answer.status, kind if isinstance(kind, str) else "", told)
    if success is not True and success is not None:
        raise DamagedAnswer(f"success is {_kind(success)}")
    if "result" not in envelope:
        raise DamagedAnswer("an object without result")
    return envelope["result"]


def _check_status(answer: CkanAnswer) -> None:
    if answer.status >= 400 or not answer.status:
        detail = "an answer of success with this status"
        raise RequestRefused(answer.status, "", detail)


def _kind(value: Any) -> str:
    """Return what JSON calls the type of a value."""
    return "null" if value is None else _KINDS[type(value)]


_KINDS: Final = {
    bool: "a boolean",
    str: "a text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
