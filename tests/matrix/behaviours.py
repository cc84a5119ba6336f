"""Behaviours of URLs, hosts and files: each with its script, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.matrix.scripts import (
    CHUNK,
    CHUNKED,
    OK,
    End,
    Script,
    chain,
    chunks_of_one,
    endless,
    endless_chain,
    first,
    flood,
    good_with,
    interim,
    loop_of_two,
    moved,
    moved_to,
    part,
    response,
    retry_at,
    self_with_cookie,
    status,
    steps,
    surplus,
    then,
    trickle,
)

HEALTHY: Final = "healthy"  # the behaviour that is none: the yardstick
_DAY: Final = 86400


def ftp(**replies: str) -> dict[str, str]:
    """Return the replies of an FTP server, by command; others are as they should be."""
    good = {
        "banner": "220 ready",
        "USER": "331 password",
        "PASS": "230 in",
        "TYPE": "200 ok",
        "SIZE": "213 40",
        "MDTM": "213 20260101000000",
        "PWD": '257 "/"',
        "FEAT": "211 none",
        "QUIT": "221 bye",
    }
    return good | replies


FTP_DOORS: Final[dict[str, dict[str, str]]] = {
    "ftp-421": ftp(banner="421 too many users"),
    "ftp-silent": ftp(banner="hang"),
    "ftp-530": ftp(PASS="530 not logged in"),
    "ftp-550": ftp(CWD="550 no such directory", SIZE="550 no", RETR="550 no such file"),
    "ftp-450": ftp(SIZE="450 busy", RETR="450 busy", CWD="450 busy"),
    "ftp-425": ftp(EPSV="425 no data connection", PASV="425 no data connection"),
    "ftp-garbage": ftp(banner="HTTP/1.1 400 Bad Request"),
    "ftp-silent-user": ftp(USER="hang"),
    "ftp-reset": ftp(USER="reset"),
    "ftp-endless": ftp(banner="endless"),
}
HTTP_DOORS: Final[dict[str, Script]] = {}  # doors whose every path has one script
TLS_DOORS: Final = (
    *("tls-self-signed", "tls-expired", "tls-wrong-name"),
    *("tls-plain", "tls-silent", "tls-reset", "tls-garbage"),
)
RAW_DOORS: Final = ("accept-reset", "accept-close", "accept-silent")
_ROBOTS_BAD: Final[dict[str, Script]] = {
    "429": status(429),
    "500": status(500),
    "503": status(503),
    "silent": steps("hang"),
    "reset": steps("reset"),
    "half": part("body", "hang"),
    "trickle": trickle("body"),
    "interim": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "chunks": endless(CHUNKED, CHUNK),
    "day": status(503, Retry_After=str(_DAY)),
    "moved-dead": moved("dead"),
}
_ROBOTS_OPEN: Final[dict[str, Script]] = {
    "403": status(403),
    "451": status(451),
    "binary": steps(response("200 OK", bytes(range(256)) * 8, "text/plain")),
    "html": steps(response("200 OK", b"<html>" * 99, "text/html")),
    "loop": moved_to("/robots.txt"),
    "chain": endless_chain,
    "503-once": first(1, status(503)),
    "silent-once": first(1, steps("hang")),
    "reset-once": first(1, steps("reset")),
    "500-twice": first(2, status(500)),
}


@dataclass(frozen=True, slots=True)
class HostBehaviour:
    """One way to misbehave.

    Attributes:
        name: as in the table.
        script: of the URL; None for a door.
        door: `http`, or the door of the host that all of it concerns.
        path: fixed path of the URL; empty: a page of the host, which is linked to.
        kind: type of the seed: `sparql`, `dump`, `sitemap`, `ckan`.
        heals: the URL itself is good in the end, too.
        is_context: the URL is a context of JSON-LD; a page that needs it is linked to.
        closes_host: as robots.txt of a host, it closes the host.
    """

    name: str
    script: Script | None = None
    door: str = "http"
    path: str = ""
    kind: str = ""
    heals: bool = False
    is_context: bool = False
    closes_host: bool = False


_REFUSALS: Final[dict[str, Script]] = {
    "429": status(429),
    "503": status(503),
    "500": status(500),
    "day": status(503, Retry_After=str(_DAY)),
    "silent": steps("hang"),
    "reset": steps("reset"),
}


def _statuses() -> Iterator[HostBehaviour]:
    yield HostBehaviour(HEALTHY, lambda ask: [ask.good], heals=True)
    codes = (
        *(204, 205, 206, 207, 226, 300, 304, 305, 306),
        *(400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414),
        *(415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 444, 451),
        *(494, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511),
        *(520, 521, 522, 523, 524, 525, 526, 527, 529, 530, 598, 599, 600, 999, 0, 99),
    )
    for code in codes:
        yield HostBehaviour(f"status-{code}", status(code))


def _retry_afters() -> Iterator[HostBehaviour]:
    texts = {
        "0": "0",
        "3": "3",
        "day": str(_DAY),
        "year": str(_DAY * 365),
        "negative": "-5",
        "garbage": "soon",
        "float": "1.5",
        "huge": "9" * 400,
        "empty": "",
        "old-date": "Sun, 06 Nov 1994 08:49:37 GMT",
        "bad-date": "Sun, 99 Nov 9999 99:99:99 GMT",
        "list": "5, 86400",
    }
    for name, text in texts.items():
        for code in (429, 503):
            yield HostBehaviour(f"{code}-after-{name}", status(code, Retry_After=text))
    for code in (429, 503):
        yield HostBehaviour(f"{code}-after-date-3", retry_at(code, 3))
        yield HostBehaviour(f"{code}-after-date-day", retry_at(code, _DAY))
    for code in (403, 404, 413, 500, 502, 504, 202):
        yield HostBehaviour(f"{code}-after-day", status(code, Retry_After=str(_DAY)))
    yield HostBehaviour("200-after-day", good_with(Retry_After=str(_DAY)), heals=True)


def _healing() -> Iterator[HostBehaviour]:
    bads: dict[str, Script] = {
        "503": status(503),
        "429": status(429),
        "429-after-1": status(429, Retry_After="1"),
        "500": status(500),
        "408": status(408),
        "502": status(502),
        "reset": steps("reset"),
        "closed": steps("close"),
        "silent": steps("hang"),
        "half": part("body", "close"),
        "half-silent": part("body", "hang"),
    }
    for name, bad in bads.items():
        yield HostBehaviour(f"once-{name}", first(1, bad), heals=True)
    for name in ("503", "429", "500"):
        yield HostBehaviour(f"twice-{name}", first(2, bads[name]), heals=True)


def _silences() -> Iterator[HostBehaviour]:
    yield HostBehaviour("silent", steps("hang"))
    yield HostBehaviour("reset", steps("reset"))
    yield HostBehaviour("closed", steps("close"))
    ends: dict[str, End] = {"silent": "hang", "reset": "reset", "closed": "close"}
    places = ("line", "headers", "head", "body", "chunk", "size", "last", "trailer")
    for where in places:
        for name, end in ends.items():
            yield HostBehaviour(f"{name}-in-{where}", part(where, end))
    yield HostBehaviour("trickle-head", trickle("head"))
    yield HostBehaviour("trickle-body", trickle("body"))
    yield HostBehaviour("interim-then-silent", steps(b"HTTP/1.1 100 X\r\n\r\n", "hang"))


def _floods() -> Iterator[HostBehaviour]:
    ok = b"HTTP/1.1 200 OK\r\n"
    for code in (100, 102, 103):
        piece = b"HTTP/1.1 %d X\r\n\r\n" % code
        yield HostBehaviour(f"endless-{code}", endless(b"", piece))
    yield HostBehaviour("endless-chunks-of-1", endless(CHUNKED, CHUNK))
    yield HostBehaviour("endless-headers", endless(ok, b"X: y\r\n"))
    yield HostBehaviour("endless-header", endless(ok + b"X: ", b"yyyy"))
    yield HostBehaviour("endless-extension", endless(CHUNKED + b"1;", b"yyyy"))
    trailers = CHUNKED + b"1\r\n#\r\n0\r\n"
    yield HostBehaviour("endless-trailers", endless(trailers, b"X: y\r\n"))
    yield HostBehaviour("endless-line", endless(b"HTTP/1.1 200 ", b"yyyy"))
    yield HostBehaviour("endless-zeros", endless(CHUNKED, b"0000"))
    yield HostBehaviour("endless-blank-lines", endless(b"", b"\r\n"))
    floods = {
        "chunks": (CHUNKED, CHUNK),
        "chunks-of-64": (CHUNKED, b"40\r\n%b\r\n" % (b"#" * 64)),
        "framing": (CHUNKED, b"0"),
        "body": (OK + b"Content-Length: 99999999\r\n\r\n", b"#"),
        "body-to-close": (OK + b"\r\n", b"#"),
        "head": (ok + b"X: ", b"y"),
        "header-lines": (ok, b"X: y\r\n"),
        "interim": (b"", b"HTTP/1.1 103 X\r\n\r\n"),
        "trailers": (trailers, b"X: y\r\n"),
        "blank-lines": (b"", b"\r\n"),
    }
    for name, sent in floods.items():
        yield HostBehaviour(f"flood-{name}", flood(*sent))
    yield HostBehaviour("chunks-of-1", chunks_of_one, heals=True)
    yield HostBehaviour("interim-5", interim(5), heals=True)


def _endings() -> Iterator[HostBehaviour]:
    second = response("200 OK", b"<> <urn:x:says> 'not asked for' .")
    yield HostBehaviour("good-then-closed", then("close"), heals=True)
    yield HostBehaviour("good-then-reset", then("reset"), heals=True)
    yield HostBehaviour("good-then-bytes", surplus(b"\0\0\0\0"), heals=True)
    yield HostBehaviour("good-then-response", surplus(second), heals=True)
    yield HostBehaviour("good-then-408", surplus(response("408 X")), heals=True)


def _nonsense() -> Iterator[HostBehaviour]:
    head = OK
    texts = {
        "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
        "http-0.9": b"<> <urn:x:p> <urn:x:o> .\n",
        "http-2": bytes.fromhex("000006040000000000000300000064"),  # SETTINGS
        "binary": bytes(range(256)),
        "length-negative": head + b"Content-Length: -1\r\n\r\n",
        "length-text": head + b"Content-Length: many\r\n\r\nx",
        "length-differs": head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "chunk-size": head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "coding": head + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        "nul": head + b"X: a\0b\r\nContent-Length: 1\r\n\r\n#",
        "no-colon": head + b"nonsense\r\nContent-Length: 1\r\n\r\n#",
        "huge-header": head + b"X: " + b"y" * 400_000 + b"\r\n\r\n",
    }
    for name, text in texts.items():
        yield HostBehaviour(f"nonsense-{name}", steps(text, "close"))


def _redirects() -> Iterator[HostBehaviour]:
    yield HostBehaviour("moved-loop-of-2", loop_of_two)
    yield HostBehaviour("moved-to-itself", lambda ask: moved_to(ask.path)(ask))
    yield HostBehaviour("moved-with-cookie", self_with_cookie)
    yield HostBehaviour("moved-chain-of-30", chain)
    yield HostBehaviour("moved-endless", endless_chain)
    for name in ("dead", "silent", "busy", "nowhere", "tls", "day"):
        yield HostBehaviour(f"moved-to-{name}", moved(name))
    yield HostBehaviour("moved-after-day", moved("page", Retry_After=str(_DAY)))
    yield HostBehaviour(
        "moved-301-after-day", moved("page", 301, Retry_After=str(_DAY))
    )
    yield HostBehaviour("moved-after-3", moved("page", Retry_After="3"))
    yield HostBehaviour("moved-after-garbage", moved("page", Retry_After="soon"))
    yield HostBehaviour(
        "moved-to-other-after-day", moved("other", Retry_After=str(_DAY))
    )
    yield HostBehaviour("moved-to-dead-after-day", moved("dead", Retry_After=str(_DAY)))
    for name, target in {
        "mailto": "mailto:a@b.example",
        "data": "data:text/turtle,%3C%3E",
        "nothing": "",
        "port-0": "http://127.0.0.1:0/",
        "long": "/" + "x" * 9000,
        "forbidden": "http://169.254.169.254/",
    }.items():
        yield HostBehaviour(f"moved-to-{name}", moved_to(target))
    yield HostBehaviour("moved-nowhere", status(302))


def _doors() -> Iterator[HostBehaviour]:
    yield HostBehaviour("refused", door="dead")
    for door in (*RAW_DOORS, *TLS_DOORS, *FTP_DOORS):
        yield HostBehaviour(door, door=door)
    for name in (*_ROBOTS_BAD, *_ROBOTS_OPEN):
        yield HostBehaviour(f"port-robots-{name}", door=f"robots-{name}")


def _robots() -> Iterator[HostBehaviour]:
    for name, script in _ROBOTS_BAD.items():
        HTTP_DOORS[f"robots-{name}"] = script
        yield HostBehaviour(
            f"robots-{name}", script, path="/robots.txt", closes_host=True
        )
    for name, script in _ROBOTS_OPEN.items():
        HTTP_DOORS[f"robots-{name}"] = script
        yield HostBehaviour(f"robots-{name}", script, path="/robots.txt")


def _files() -> Iterator[HostBehaviour]:
    for name, script in _REFUSALS.items():
        for file in ("void", "tdmrep.json"):
            path = f"/.well-known/{file}"
            yield HostBehaviour(f"{file}-{name}", script, path=path)
        yield HostBehaviour(f"sitemap-{name}", script, path="/sitemap.xml")
        yield HostBehaviour(
            f"context-{name}", script, path="/context.jsonld", is_context=True
        )
        for kind in ("sparql", "dump", "ckan", "resourcesync"):
            yield HostBehaviour(f"{kind}-{name}", script, kind=kind)


BEHAVIOURS: Final[dict[str, HostBehaviour]] = {
    each.name: each
    for family in (
        *(_statuses, _retry_afters, _healing, _silences, _floods, _endings, _nonsense),
        *(_redirects, _robots, _doors, _files),
    )
    for each in family()
}
