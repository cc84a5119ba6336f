"""Webs in which something misbehaves: a URL of a host, a host, or a hundred hosts."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tests.matrix.behaviours import BEHAVIOURS, HostBehaviour
from tests.matrix.scripts import TURTLE
from tests.matrix.server import HostSpec, WebSpec

Position = Literal["first", "middle", "last", "stranger", "three"]
POSITIONS: Final[tuple[Position, ...]] = (
    *("first", "middle", "last", "stranger", "three"),
)
# Names that do not resolve: one is not there, of the other no server knows.
NAMES: Final = {"nowhere.example": ["EAI_NONAME"], "unknown.example": ["EAI_AGAIN"]}
ROOT: Final = Path(__file__).resolve().parents[2]
# A host all of whose URLs heal so late may be owed when all else is done.
_LONG: Final = ("once-429-after-1", "twice-503", "twice-429", "twice-500")


@dataclass
class Web:
    """Hosts, and the expected results of a crawl of them.

    Args:
        prefix: first two numbers of all addresses.

    Attributes:
        seeds: URL and type.
        good: URLs of pages that must be fetched, by host.
        heals: URLs that misbehave at first, and must be fetched in the end.
        bad: URLs that misbehave, as host and target.
        names: behaviour by host.
    """

    prefix: str = "127.110"
    spec: WebSpec = field(
        default_factory=lambda: WebSpec(ports={}, hosts={}, elsewhere={})
    )
    seeds: list[tuple[str, str]] = field(default_factory=list)
    good: dict[str, set[str]] = field(default_factory=dict)
    heals: set[str] = field(default_factory=set)
    bad: set[tuple[str, str]] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.port("http")

    def port(self, door: str) -> int:
        """Return the port of a door, the same on all hosts."""
        ports = self.spec["ports"]
        while door not in ports:
            with socket.socket() as free:
                free.bind((f"{self.prefix}.0.1", 0))
                number = free.getsockname()[1]
            if number not in ports.values():
                ports[door] = number
        return ports[door]

    def url(self, host: str, target: str = "/", door: str = "http") -> str:
        """Return a URL."""
        scheme = "https" if door.startswith("tls") else "http"
        if door.startswith("ftp"):
            scheme = "ftp"
        return f"{scheme}://{host}:{self.port(door)}{target}"

    def host(self, name: str = "", doors: Iterable[str] = ("http",)) -> str:
        """Add a host; return its address."""
        number = next(self._numbers)
        address = f"{self.prefix}.{number // 250}.{number % 250 + 1}"
        for door in doors:
            self.port(door)
        self.spec["hosts"][address] = HostSpec(
            doors=list(doors), pages={}, bad={}, all=""
        )
        self.names[address] = name
        return address

    def page(self, host: str, target: str, links: Iterable[str] = ()) -> str:
        """Add a good page with links; return its URL."""
        lines = [f'<> <urn:x:says> "{target}" .']
        lines += [f"<> <urn:x:to> <{link}> ." for link in links]
        self.spec["hosts"][host]["pages"][target] = ("\n".join(lines), TURTLE)
        url = self.url(host, target)
        self.good.setdefault(host, set()).add(url)
        return url

    def site(self, host: str, n_pages: int, bad: Sequence[str], at: Position) -> str:
        """Add pages and an index that links to them and to bad URLs; return its URL."""
        pages = [self.page(host, f"/p{n}") for n in range(1, n_pages + 1)]
        place = {"first": 0, "middle": n_pages // 2, "last": n_pages}.get(at)
        if place is not None:
            pages[place:place] = bad
        return self.page(host, "/", pages)

    def n_plain(self) -> int:
        """Return how many requests a run without misbehaviour has, without robots."""
        return sum(map(len, self.good.values())) + len(self.bad)

    def seed_file(self, path: Path) -> Path:
        """Write the seeds down."""
        lines = ["uri,type", *(f'"{url}",{kind}' for url, kind in self.seeds)]
        path.write_text("\n".join(lines) + "\n")
        return path

    def close_host(self, host: str) -> None:
        """Expect nothing of a host."""
        self.good.pop(host, None)


def _bad_urls(web: Web, host: str, behaviour: HostBehaviour, n: int) -> list[str]:
    """Add URLs that misbehave; return those that pages link to."""
    spec = web.spec["hosts"][host]
    urls = []
    if behaviour.is_context:
        context = web.url(host, behaviour.path)
        text = f'{{"@context": "{context}", "@id": "", "says": "x"}}'
        for target in (f"/needs{each}" for each in range(1, n + 1)):
            spec["pages"][target] = (text, "application/ld+json")
            urls.append(web.url(host, target))
        spec["bad"][behaviour.path] = behaviour.name
        web.bad.add((host, behaviour.path))
    elif behaviour.path:
        spec["bad"][behaviour.path] = behaviour.name
        web.bad.add((host, behaviour.path))
        if behaviour.path == "/sitemap.xml":
            text = f"Sitemap: {web.url(host, behaviour.path)}\n"
            spec["pages"]["/robots.txt"] = (text, "text/plain")
    else:
        for each in range(1, n + 1):
            suffix = ".nt" if behaviour.kind == "dump" else ""
            target = f"/bad{each}{suffix}"
            if behaviour.door == "http":
                spec["bad"][target] = behaviour.name
            web.bad.add((host, target))
            url = web.url(host, target, behaviour.door)
            if behaviour.heals:
                web.heals.add(url)
            urls.append(url)
    return urls


def _doors(behaviour: HostBehaviour) -> list[str]:
    return list(dict.fromkeys(("http", behaviour.door)))


def _elsewhere(web: Web, n_pages: int) -> None:
    """Add the host that redirects lead to, which has good pages, too."""
    host = web.host("elsewhere", ("http", "dead", "tls-self-signed"))
    bad = {"busy": "status-429", "day": "503-after-day", "silent": "silent"}
    web.spec["hosts"][host]["bad"] = {f"/{n}": name for n, name in bad.items()}
    web.bad |= {(host, f"/{name}") for name in bad}
    unresolved = [f"http://{name}/x" for name in NAMES]
    web.seeds.append((web.site(host, n_pages, unresolved, "first"), ""))
    web.spec["elsewhere"] = {
        **{name: web.url(host, f"/{name}") for name in bad},
        "dead": web.url(host, "/x", "dead"),
        "tls": web.url(host, "/x", "tls-self-signed"),
        "nowhere": "http://nowhere.example/x",
        "page": "/p1",
        "other": web.url(host, "/p1"),
    }


def one_url(
    chosen: Sequence[tuple[HostBehaviour, Position]], n_pages: int, prefix: str
) -> Web:
    """Return a web in which each behaviour is that of one URL (or three) of a host."""
    web = Web(prefix)
    stranger = web.host("stranger")
    _elsewhere(web, n_pages)
    for number, (behaviour, at) in enumerate(chosen):
        host = web.host(f"{behaviour.name} {at}", _doors(behaviour))
        urls = _bad_urls(web, host, behaviour, 3 if at == "three" else 1)
        linked = [] if behaviour.kind else urls
        index = web.site(host, n_pages, linked, at)
        if behaviour.kind:
            sources = [(url, behaviour.kind) for url in urls]
            seeds = [*sources, (index, "")]
            web.seeds += reversed(seeds) if at == "last" else seeds
        elif at in {"stranger", "three"}:
            links = [*linked, index]
            web.seeds.append((web.page(stranger, f"/about{number}", links), ""))
        else:
            web.seeds.append((index, ""))
        if behaviour.closes_host:
            web.close_host(host)
    return web


def bad_hosts(
    chosen: Sequence[HostBehaviour],
    n_good: int,
    n_pages: int,
    prefix: str,
    n_bad: int = 3,
    *,
    has_robots: bool = False,
) -> Web:
    """Return a web of good hosts, and a bad host for each behaviour given.

    Args:
        chosen: the behaviours.
        n_good: good hosts.
        n_pages: of each.
        prefix: of the addresses.
        n_bad: URLs of each bad host.
        has_robots: see `add_bad_hosts`.
    """
    web = Web(prefix)
    _elsewhere(web, n_pages)
    for _ in range(n_good):
        index = web.site(web.host("good"), n_pages, (), "last")
        web.seeds.append((index, ""))
    add_bad_hosts(web, chosen, n_bad, has_robots=has_robots)
    return web


def add_bad_hosts(
    web: Web, chosen: Sequence[HostBehaviour], n_bad: int, *, has_robots: bool = False
) -> None:
    """Add hosts all of whose URLs misbehave, and a page that links to these.

    Args:
        web: that they are added to.
        chosen: the behaviours.
        n_bad: URLs of each host.
        has_robots: robots.txt and the well-known files do not misbehave.
    """
    links = []
    for behaviour in chosen:
        host = web.host(behaviour.name, _doors(behaviour))
        if behaviour.path or behaviour.kind:
            links += _bad_urls(web, host, behaviour, 1)
            links += [web.url(host, f"/x{each}") for each in range(n_bad)]
            continue
        spec = web.spec["hosts"][host]
        targets = [f"/x{each}" for each in range(n_bad)]
        if behaviour.door == "http" and has_robots:
            spec["bad"] = dict.fromkeys(targets, behaviour.name)
        elif behaviour.door == "http":
            spec["all"] = behaviour.name
        urls = [web.url(host, each, behaviour.door) for each in targets]
        links += urls
        web.bad |= {(host, each) for each in targets}
        if behaviour.heals and behaviour.name not in _LONG:
            web.heals |= set(urls)
    stranger = web.host("stranger of hosts")
    web.seeds.insert(0, (web.page(stranger, "/about", links), ""))


@contextmanager
def served(web: Web, folder: Path) -> Iterator[Path]:
    """Serve a web from a separate process; yield the path of the log."""
    spec_path, log_path = folder / "spec.json", folder / "log.jsonl"
    spec_path.write_text(json.dumps(web.spec))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.matrix.server", str(spec_path), str(log_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    try:
        assert process.stdout.readline() == b"ready\n"
        yield log_path
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def heal(folder: Path) -> None:
    """Have all hosts of a web that is served be healthy from now on."""
    (folder / "spec.json.healed").touch()


def named(*names: str) -> list[HostBehaviour]:
    """Return behaviours by name."""
    return [BEHAVIOURS[name] for name in names]
