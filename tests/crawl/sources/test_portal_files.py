"""The files of the datasets of a portal in later runs: kept, changed, dropped."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from tests.support.ckan_sites import CkanSite

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

OLD = "2020-01-01T00:00:00.000000"
NEW = "2020-02-01T00:00:00.000000"


def files(asked: list[str]) -> list[str]:
    """Return the requests for files."""
    return sorted(x for x in asked if x.startswith("/f/"))


def test_files_are_requested_when_the_portal_says_so(
    commands: Commands, loopback: Loopback
) -> None:
    """If date, hash or size of a file changes, then the next run requests it.

    A file with an unchanged date or hash is not requested. Without both, it is
    requested if it has validators or its dataset has changed.
    """
    site = CkanSite(loopback, "127.20.31.1")
    signals: dict[str, dict[str, Any]] = {
        "dated": {"last_modified": OLD},
        "hashed": {"hash": "md5:0A"},
        "prefixed": {"hash": "0a", "hash_algorithm": "md5"},
        "sized": {"size": 10},
        "tagged": {},
        "bare": {},
        "same-date": {"last_modified": OLD},
        "same-hash": {"hash": "0a"},
        "same": {"size": 10},
    }
    for name, claims in signals.items():
        url = site.file(f"/f/{name}", "first", is_tagged=name == "tagged")
        site.dataset(name, {"url": url, **claims})
    folder = commands.folder()
    first = site.harvest(commands, folder=folder)
    assert first.code == 0, first.stderr
    assert site.texts(first) == {f"f/{name}": "first" for name in signals}

    changes: dict[str, dict[str, Any]] = {
        "dated": {"last_modified": NEW},
        "hashed": {"hash": "md5:0B"},
        "prefixed": {"hash": "0b", "hash_algorithm": "sha1"},
        "sized": {"size": 11},
        "bare": {},
    }
    for name in signals:
        site.file(f"/f/{name}", "second", is_tagged=name == "tagged")
    for name, claims in changes.items():
        site.dataset(name, {"url": site.at(f"/f/{name}"), **claims})
    site.dataset("same-hash", {"url": site.at("/f/same-hash"), "hash": "0A"}, notes="x")
    n_asked = len(site.asked())
    second = site.harvest(commands, folder=folder)
    due = {*changes, "tagged"}
    assert files(site.asked_since(n_asked)) == sorted(f"/f/{x}" for x in due)
    assert {x for x in signals if site.texts(second)[f"f/{x}"] == "second"} == due

    n_asked = len(site.asked())
    third = site.harvest(commands, folder=folder)
    assert files(site.asked_since(n_asked)) == ["/f/tagged"]
    assert third.statuses(site.at("/f/tagged"))[-1] == "UNCHANGED"
    assert len(site.asked()) - n_asked <= 10
    n_asked = len(site.asked())
    last = site.harvest(commands, folder=folder, REVISIT_SECS=0)
    assert site.texts(last)["f/same"] == "second"
    undated = {"/f/bare", "/f/same", "/f/sized", "/f/tagged"}
    assert set(files(site.asked_since(n_asked))) == undated


def test_files_without_a_dataset_are_withdrawn(
    commands: Commands, loopback: Loopback
) -> None:
    """If no dataset has a file any more, then it is gone without a request.

    A file that another dataset has stays, also if that dataset is new. A dataset is
    gone, too, if another one has its name now.
    """
    site = CkanSite(loopback, "127.20.31.2")
    names = (
        *("gone", "private", "resource", "url", "format", "shared", "moved", "kept"),
        "remade",
    )
    for name in names:
        site.dataset(name, {"url": site.file(f"/f/{name}", name)})
    target = site.file("/t/redirected", "redirected")
    site.server.pages["/f/redirected"] = loopback.redirect(target)
    site.dataset("redirected", {"url": site.at("/f/redirected"), "hash": "0a"})
    for name in ("twice", "sharing"):
        shared = {"url": site.at("/f/shared")}
        site.dataset(name, shared, {**shared, "name": "again"}, {"url": ""})
    folder = commands.folder()
    first = site.texts(site.harvest(commands, folder=folder))
    assert first == {f"f/{x}": x for x in names} | {"t/redirected": "redirected"}

    site.packages["private"]["private"] = True
    for name in ("gone", "shared", "twice", "redirected"):
        site.packages[name]["state"] = "deleted"
    site.dataset("resource")
    site.dataset("url", {"url": site.file("/f/other", "other")})
    site.dataset("format", {"url": site.at("/f/format"), "format": "CSV"})
    site.dataset("moved")
    site.dataset("new", {"url": site.at("/f/moved")})
    del site.packages["remade"]
    site.dataset("successor", {"url": site.file("/f/made", "made")})
    site.packages["successor"]["name"] = "remade"
    n_asked = len(site.asked())
    second = site.harvest(commands, folder=folder)
    left = {"f/shared": "shared", "f/moved": "moved", "f/kept": "kept"}
    assert site.texts(second) == {**left, "f/other": "other", "f/made": "made"}
    assert "/f/gone" not in site.asked_since(n_asked)
    for name in ("gone", "private", "resource", "url", "format"):
        assert second.statuses(site.at(f"/f/{name}"))[-1] == "DELETED", name

    site.dataset("resource", {"url": site.at("/f/resource")})
    del site.packages["sharing"]
    third = site.harvest(commands, folder=folder)
    expected = {"f/moved", "f/kept", "f/other", "f/resource", "f/made"}
    assert site.texts(third).keys() == expected


def archive(site: CkanSite, path: str, text: str) -> str:
    """Serve an archive of one file; return its URL."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.nt", f'<{site.at(path)}> <urn:x:says> "{text}" .\n')
    return site.tagged(path, packed.getvalue(), "application/zip")


def test_files_that_fail_keep_their_statements(
    commands: Commands, loopback: Loopback
) -> None:
    """If a changed file fails, then its last statements stay, and it is tried again.

    A file that redirects elsewhere is withdrawn from the former place when it was read
    at the new one. An archive is a file like any other.
    """
    site, other = CkanSite(loopback, "127.20.31.3"), CkanSite(loopback, "127.20.31.4")
    names = ("busy", "empty", "page", "missing", "redirect", "lost", "sorry", "zip")
    claims = {name: {"last_modified": OLD} for name in names}
    urls = {name: site.file(f"/f/{name}", "first") for name in names}
    for name in ("redirect", "lost", "sorry"):
        target = other.file(f"/{name}", "first")
        site.server.pages[f"/f/{name}"] = loopback.redirect(target)
    archive(site, "/f/zip", "first")
    claims["zip"]["format"] = "N-Triples (zip)"

    def crawl() -> dict[str, str]:
        for name in names:
            site.dataset(name, {"url": urls[name], **claims[name]})
        texts = site.texts(site.harvest(commands, folder=folder))
        return {name.rpartition("/")[2]: text for name, text in texts.items()}

    folder = commands.folder()
    assert crawl() == dict.fromkeys(names, "first")

    site.fails("/f/busy", "503 Busy")
    site.fails("/f/missing", "404 Not Found")
    site.fails("/f/lost", "404 Not Found")
    site.put("/f/empty", b"", "application/n-triples")
    for name in ("page", "sorry"):
        site.put(f"/f/{name}", b"<html><p>We are sorry.</p></html>", "text/html")
    elsewhere = other.file("/elsewhere", "second")
    site.server.pages["/f/redirect"] = loopback.redirect(elsewhere)
    archive(site, "/f/zip", "second")
    for claim in claims.values():
        claim["last_modified"] = NEW
    kept = dict.fromkeys(("busy", "empty", "page", "sorry"), "first")
    assert crawl() == {**kept, "elsewhere": "second", "zip": "second"}

    for name in ("busy", "empty", "page", "missing"):
        site.file(f"/f/{name}", "third")
    mended = dict.fromkeys(("busy", "empty", "page", "missing"), "third")
    assert crawl().items() >= mended.items()


def test_portal_that_fails_loses_no_files(
    commands: Commands, loopback: Loopback
) -> None:
    """If actions of a portal fail, then its files stay, and a later run goes on.

    If it has nothing, then its datasets stay until a later run finds nothing either;
    they come back with their old dates.
    """
    site = CkanSite(loopback, "127.20.31.5")
    for name in ("a", "b", "gone"):
        site.dataset(name, {"url": site.file(f"/f/{name}", "first")})
    folder = commands.folder()
    site.harvest(commands, folder=folder)
    del site.packages["gone"]
    for failing in ({"package_search", "package_list"}, {"package_list"}):
        site.failing = failing
        result = site.harvest(
            commands, folder=folder, HOST_PATIENCE_SECS=2, HOST_LAST_WAIT_SECS=2
        )
        assert site.texts(result).keys() >= {"f/a", "f/b"}
    site.failing = set()
    site.file("/f/a", "second")
    # otherwise a file that has not changed for some seconds may be fresh for one
    last = site.texts(site.harvest(commands, folder=folder, REVISIT_SECS=0))
    assert last == {"f/a": "second", "f/b": "first"}
    packages, site.packages = site.packages, {}
    assert site.texts(site.harvest(commands, folder=folder)) == last
    assert not site.texts(site.harvest(commands, folder=folder))
    site.packages = packages
    assert site.texts(site.harvest(commands, folder=folder)) == last


def test_endpoints_of_unchanged_datasets_are_requested_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset with an endpoint is unchanged, each run requests the endpoint."""
    site = CkanSite(loopback, "127.20.31.6")
    site.dataset("endpoint", {"url": site.at("/sparql"), "format": "SPARQL"})
    site.dataset("new", metadata_modified="2024-03-01T00:00:00.000000")
    folder = commands.folder()
    for _ in range(2):
        n_asked = len(site.asked())
        site.harvest(commands, folder=folder)
        assert "/sparql" in site.asked_since(n_asked)


def test_former_files_stay_until_the_new_ones_are_read(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset has another file that fails, then the former one stays meanwhile.

    It stays for three runs at most, and goes at once with its dataset.
    """
    site, folder = CkanSite(loopback, "127.20.31.7"), commands.folder()
    for name in ("down", "page", "gone", "deleted"):
        site.dataset(name, {"url": site.file(f"/f/{name}-1", "old")})
    former = {f"f/{x}-1": "old" for x in ("down", "page", "gone", "deleted")}
    assert site.texts(site.harvest(commands, folder=folder)) == former

    for name in ("down", "page", "gone", "deleted"):
        site.fails(f"/f/{name}-1", "404 No")
        site.fails(f"/f/{name}-2", "503 Busy")
        site.dataset(name, {"url": site.at(f"/f/{name}-2")})
    site.put("/f/page-2", b"<html><p>Moved", "text/html")
    site.fails("/f/gone-2", "404 No")
    assert site.texts(site.harvest(commands, folder=folder)) == former

    del site.packages["deleted"]
    site.file("/f/down-2", "new")
    site.file("/f/page-2", "new")
    expected = {"f/down-2": "new", "f/page-2": "new", "f/gone-1": "old"}
    for _ in range(2):
        assert site.texts(site.harvest(commands, folder=folder)) == expected

    del expected["f/gone-1"]
    assert site.texts(site.harvest(commands, folder=folder)) == expected
