"""Host names as a test has written them, in every process with this folder on its path.

The environment variable `SCRIPTED_NAMES` names a file of JSON: name -> answers, each a
list of addresses or the name of an error of `getaddrinfo`. A lookup takes the next
answer of its name in this process; the last one stays. A name `*.giant.example` stands
for all names below it that are not there themselves. All other hosts are looked up as
ever. While there is a file of the same name with `.outage` after it, no name server
answers for `.example`; one with `.lies` after it has the answers that names get before
their own, each the same to all. See `tests/support/crawl_names.py`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from typing import Any

_look_up = socket.getaddrinfo
_answers: dict[str, list[Any]] = {}
_outage = os.environ.get("SCRIPTED_NAMES", "") + ".outage"
_lies = os.environ.get("SCRIPTED_NAMES", "") + ".lies"
if path := os.environ.get("SCRIPTED_NAMES"):
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  (at each start)
        _answers = json.load(file)


def _lie(name: str) -> Any:
    if not os.path.exists(_lies):  # noqa: PTH110  (at each start)
        return None
    with suppress(FileNotFoundError), open(_lies, encoding="utf-8") as file:  # noqa: PTH123
        return json.load(file).get(name)
    return None


def _answer(host: object) -> Any:
    if str(host).endswith(".example") and os.path.exists(_outage):  # noqa: PTH110  (at each start)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    text = host.decode() if isinstance(host, bytes) else str(host)
    name = text.removesuffix(".")
    answer = _lie(name) or _own_answer(name)
    if isinstance(answer, str):
        raise socket.gaierror(getattr(socket, answer), answer)
    return answer


def _own_answer(name: str) -> Any:
    answers = _answers.get(name) or _answers.get(f"*.{name.partition('.')[2]}")
    if answers is None:
        return None
    return answers.pop(0) if len(answers) > 1 else answers[0]


def getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
    """Stand for `socket.getaddrinfo`."""
    answer = _answer(host)
    if answer is None:
        return _look_up(host, port, *rest, **named)
    named |= {"flags": socket.AI_NUMERICHOST}
    rows = []
    for address in answer:
        with suppress(socket.gaierror):  # not of the family that is wanted
            rows += _look_up(address, port, *rest[:3], **named)
    return rows


def gethostbyname(host: Any) -> str:
    """Replaces `socket.gethostbyname`, which Twisted calls."""
    found = getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    return str(found[0][4][0])


if _answers:
    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = gethostbyname
    if twisted := sys.modules.get("twisted.internet._resolver"):  # it has the other one
        made: Any = twisted.GAIResolver.__init__
        made.__defaults__ = tuple(
            getaddrinfo if each is _look_up else each for each in made.__defaults__
        )
