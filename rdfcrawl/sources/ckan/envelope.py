"""Responses of the action API: `{"success": …, "result": …}`.

The datasets of a page are located first and decoded one by one later, so a page needs
only the memory of its text and of one dataset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted

MAX_RESPONSE_BYTES: Final = 64 * 2**20

_SPACE = re.compile(r"[ \t\r\n]*")
_LOGIN = re.compile(
    r"type=[\"']?password|/(?:user/)?log_?in\b|\bsign[ -]in\b", re.IGNORECASE
)
_UNREADABLE = (ValueError, RecursionError)  # of `json`, for example for long numbers
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanResponse:
    """A response of a portal."""

    status: int  # of HTTP; 0 after a timeout
    # decoded; at most `MAX_RESPONSE_BYTES` are read
    body: bytes = field(default=b"", repr=False)
    url: str = ""  # after redirects


class RequestRefused(SourceFault):
    """The portal refuses the request.

    `kind` is `__type` of CKAN's error (`Authorization Error`); empty if unknown.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        detail = ": ".join(filter(None, (f"HTTP {status}", kind, message)))
        super().__init__(Reason.BAD_ANSWER, detail)
        self.status, self.kind = status, kind


class DamagedResponse(SourceFault):
    """The body is not from the API, is cut off (`is_cut`), or has another shape."""

    def __init__(self, detail: str, *, is_cut: bool = False) -> None:
        super().__init__(Reason.BAD_ANSWER, detail)
        self.is_cut = is_cut


@dataclass(frozen=True, slots=True)
class PackageText:
    """One dataset in the text of a response, not decoded yet."""

    id: str  # permanent; the name if missing
    name: str  # in the URL of the dataset
    modified: str  # `metadata_modified`, unparsed; may be empty
    state: str  # `active`, `deleted`, …; `active` if missing
    _text: str = field(repr=False, compare=False)
    _begin: int = field(repr=False, compare=False)

    def load(self) -> dict[str, Any]:
        """Return the decoded dataset."""
        package: dict[str, Any] = _DECODER.raw_decode(self._text, self._begin)[0]
        return package


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPage:
    """A page of datasets."""

    count: int | None  # matching rows of all pages; None if missing
    n_rows: int  # rows of this page, including invalid ones
    packages: tuple[PackageText, ...]  # in the order of the page
    damage: str = ""  # error that ended reading early; empty if none


def read_result(response: CkanResponse) -> Any:
    """Return the value of `result`.

    Raises:
        RequestRefused: the portal refused the request.
        DamagedResponse: the body is not from the API.
    """
    text = _text(response)
    try:
        envelope = json.loads(text)
    except _UNREADABLE as error:
        _raise_unreadable(response, text, error)
    result = _opened(response, envelope)
    _check_status(response)
    return result


def read_page(response: CkanResponse) -> DatasetPage:
    """Return the datasets of a response of `package_search`, or of a plain list.

    Rows before the text ends or breaks are kept: see `DatasetPage.damage`.

    Raises:
        RequestRefused: the portal refused the request.
        DamagedResponse: the body is not from the API, and nothing was read.
    """
    text = _text(response)
    walk = _Walk(text)
    damage = ""
    try:
        walk.envelope()
    except _UNREADABLE as error:
        if not walk.packages:
            _raise_unreadable(response, text, error)
        damage = f"cut off or broken after {counted(walk.n_rows, 'row')}: {error}"
    if not damage:
        _opened(response, walk.members)
    _check_status(response)
    if not (damage or walk.has_rows):
        raise DamagedResponse("result has no list of datasets")
    count = walk.count
    is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    return DatasetPage(
        count=count if is_count else None,
        n_rows=walk.n_rows,
        packages=tuple(walk.packages),
        damage=damage,
    )


def read_package(response: CkanResponse) -> PackageText:
    """Return the dataset of a response of `package_show`.

    Raises:
        RequestRefused: the dataset is missing or not public.
        DamagedResponse: the body is not from the API.
    """
    package = _package(read_result(response), "", 0)
    if package is None:
        raise DamagedResponse("result is not a dataset")
    text = response.body.decode("utf-8-sig", "replace")
    return replace(package, _text=text, _begin=_Walk(text).result_begin())


def read_names(response: CkanResponse) -> list[str]:
    """Return the names of a response of `package_list`.

    Raises:
        RequestRefused, DamagedResponse: see `read_result`; also if the result is not a
            list of strings.
    """
    result = read_result(response)
    if not isinstance(result, list):
        raise DamagedResponse(f"result is {_kind(result)} instead of a list of names")
    names = [one for one in result if isinstance(one, str) and one.strip()]
    if len(names) < len(result):
        raise DamagedResponse("the list of names has other values")
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
        """Read the text; raises the errors of `json`."""
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
        """Return the position of the value of `result` in a valid text."""
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
        """Yield key and position of each value; the consumer sets `_end`."""
        for begin in self._items(at, "}"):
            key, end = _DECODER.raw_decode(self.text, begin)
            if not isinstance(key, str):
                raise json.JSONDecodeError("Expecting a name", self.text, begin)
            self._end = self._expect(":", self._skip(end))
            yield key, self._end

    def _items(self, at: int, closing: str) -> Iterator[int]:
        """Yield the position of each item; the consumer sets `_end`."""
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


def _text(response: CkanResponse) -> str:
    """Return the text of a body; raises if it cannot be JSON."""
    if len(response.body) > MAX_RESPONSE_BYTES:
        raise SourceFault(Reason.TOO_LARGE, f"more than {MAX_RESPONSE_BYTES} bytes")
    text = response.body.decode("utf-8-sig", "replace")
    begin = text[:200].lstrip()
    if not begin:
        if response.status >= 400 or not response.status:
            raise RequestRefused(response.status, "", "empty response")
        raise DamagedResponse("empty response")
    if begin.startswith("<"):
        is_login = _LOGIN.search(text[:20_000]) or _LOGIN.search(response.url)
        what = "a login page" if is_login else "a page or XML"
        if response.status >= 400:
            raise RequestRefused(response.status, "", f"{what} instead of JSON")
        raise DamagedResponse(f"{what} instead of JSON: {response.url}")
    return text


def _raise_unreadable(
    response: CkanResponse, text: str, error: BaseException
) -> NoReturn:
    if response.status >= 400:
        raise RequestRefused(response.status, "", text[:100]) from None
    if isinstance(error, RecursionError):
        raise DamagedResponse("JSON nested too deeply") from None
    text = text.rstrip()
    is_cut = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text) or "Unterminated" in error.msg
    )
    what = "truncated JSON" if is_cut else "not JSON"
    raise DamagedResponse(f"{what}: {error}", is_cut=is_cut) from None


def _opened(response: CkanResponse, envelope: Any) -> Any:
    """Return `result` of an envelope that states success."""
    if isinstance(envelope, dict) and envelope.keys() == {""}:
        envelope = envelope[""]  # `_Walk` found a value that is not an object
    if not isinstance(envelope, dict):
        # CKAN responds with a bare string to an unknown action.
        if response.status >= 400 or isinstance(envelope, str):
            raise RequestRefused(response.status, "", str(envelope)[:200])
        raise DamagedResponse(f"{_kind(envelope)} instead of an object")
    success = envelope.get("success")
    if success is False or (success is None and "error" in envelope):
        error = envelope.get("error")
        kind = error.get("__type") if isinstance(error, dict) else ""
        message = error.get("message") if isinstance(error, dict) else error
        detail = message if isinstance(message, str) else json.dumps(error)[:200]
        raise RequestRefused(
            response.status, kind if isinstance(kind, str) else "", detail
        )
    if success is not True and success is not None:
        raise DamagedResponse(f"success is {_kind(success)}")
    if "result" not in envelope:
        raise DamagedResponse("an object without result")
    return envelope["result"]


def _check_status(response: CkanResponse) -> None:
    if response.status >= 400 or not response.status:
        detail = "success reported with this status"
        raise RequestRefused(response.status, "", detail)


def _kind(value: Any) -> str:
    """Return the JSON name of the type of a value."""
    return "null" if value is None else _KINDS[type(value)]


_KINDS: Final = {
    bool: "a boolean",
    str: "a string",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
