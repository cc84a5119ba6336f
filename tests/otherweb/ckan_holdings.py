"""Contents of a CKAN portal: organizations, groups, packages, files."""

from __future__ import annotations

import gzip
import io
import uuid
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.otherweb.statements import population, write

if TYPE_CHECKING:
    import pyoxigraph as ox

Package = dict[str, Any]

ORGANIZATIONS = {"city": "City of Other", "ministry": "Ministère de l'Eau"}
GROUPS = {"water": "Water", "transport": "Transport & Roads"}
TAGS = ("rivers", "Öl", "two words", "x-ray.2", "a_b")
_SPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


@dataclass
class Holdings:
    """Everything in the database of one portal, public or not.

    Attributes:
        packages: in order of their creation.
        files: uploads by URL: media type and bytes.
        contents: statements in public uploads.
    """

    root: str
    packages: list[Package] = field(default_factory=list)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    contents: set[ox.Triple] = field(default_factory=set)

    def public(self) -> list[Package]:
        """Return everything that anonymous visitors may see, by name."""
        return sorted(
            (p for p in self.packages if p["state"] == "active" and not p["private"]),
            key=lambda package: str(package["name"]),
        )


def stock(root: str, n: int) -> Holdings:
    """Make a portal of `n` packages; every eleventh is not public."""
    holdings = Holdings(root)
    for i in range(n):
        package = _package(holdings, i)
        hidden = i % 11 == 5
        if hidden:
            state = ("active", "draft", "deleted")[i // 11 % 3]
            package |= {"state": state, "private": state == "active"}
        if i % 4 == 0:
            _upload(holdings, package, i, published=not hidden)
        package["num_resources"] = len(package["resources"])
        holdings.packages.append(package)
    return holdings


def _id(root: str, what: str) -> str:
    return str(uuid.uuid5(_SPACE, f"{root} {what}"))


def _package(holdings: Holdings, i: int) -> Package:
    root = holdings.root
    organization = list(ORGANIZATIONS)[i % 2]
    package_id = _id(root, f"package {i}")
    extras = {"frequency": "weekly", "spatial": '{"type":"Point","coordinates":[7,51]}'}
    if i % 9 == 1:
        extras["identifier"] = f"doi:10.5555/{i}"
    if i % 9 == 2:
        extras["uri"] = f"{root}/id/dataset/{i}"
    return {
        "id": package_id,
        "name": f"dataset-{i:03}",
        "title": f"Dataset {i}: “quoted” & <b>bold</b>",
        "notes": f"Line one of {i}.\r\n\r\n* a list\n* of _:two" if i % 5 else "",
        "type": "dataset",
        "state": "active",
        "private": False,
        "author": "A. Author",
        "author_email": "author@other.example",
        "maintainer": None,
        "maintainer_email": "",
        "license_id": "cc-by",
        "license_title": "Creative Commons Attribution",
        "license_url": "http://www.opendefinition.org/licenses/cc-by",
        "isopen": True,
        "url": f"http://landing.other.invalid/{i}?a=1&b=2" if i % 3 == 0 else "",
        "version": f"1.{i}" if i % 2 else None,
        "metadata_created": f"2024-01-{i % 28 + 1:02}T08:30:00.{i:06}",
        "metadata_modified": f"2025-02-{i % 28 + 1:02}T08:30:00.{i:06}",
        "creator_user_id": _id(root, "user"),
        "owner_org": _id(root, organization),
        "organization": {
            "id": _id(root, organization),
            "name": organization,
            "title": ORGANIZATIONS[organization],
            "type": "organization",
            "description": "",
            "image_url": "",
            "created": "2020-01-01T00:00:00.000000",
            "is_organization": True,
            "approval_status": "approved",
            "state": "active",
        },
        "groups": [
            {"id": _id(root, name), "name": name, "title": title, "display_name": title}
            for name, title in list(GROUPS.items())[: i % 3]
        ],
        "tags": [
            {
                "id": _id(root, tag),
                "name": tag,
                "display_name": tag,
                "state": "active",
                "vocabulary_id": None,
            }
            for tag in TAGS[: i % 6]
        ],
        "num_tags": i % 6,
        "extras": [{"key": key, "value": text} for key, text in extras.items()],
        "relationships_as_subject": [],
        "relationships_as_object": [],
        "resources": [
            _resource(root, package_id, 0, f"{root}/files/{i}.csv", "CSV", "text/csv")
        ],
    }


def _resource(
    root: str, package_id: str, nth: int, url: str, kind: str, mimetype: str | None
) -> dict[str, Any]:
    return {
        "id": _id(root, f"{package_id} {nth}"),
        "package_id": package_id,
        "name": f"File {nth}" if nth else None,
        "description": f"as {kind}",
        "url": url,
        "url_type": "upload" if nth else None,
        "format": kind,
        "mimetype": mimetype,
        "mimetype_inner": None,
        "size": None,
        "hash": "",
        "position": nth,
        "state": "active",
        "created": "2024-01-01T00:00:00.000000",
        "last_modified": None,
        "resource_type": None,
        "cache_url": None,
    }


def _upload(holdings: Holdings, package: Package, i: int, *, published: bool) -> None:
    """Put a file with statements into a package, each time in another form."""
    data = list(population(f"{holdings.root}/thing/{i}/", 12, seed=i))
    turtle, xml = write(data, "text/turtle"), write(data, "application/rdf+xml")
    lines = write(data, "application/n-triples")
    kind, mimetype, name, served, body = (
        ("N-Triples", "application/n-triples", "a.nt", "application/n-triples", lines),
        ("TTL", None, "b.ttl.gz", "application/gzip", gzip.compress(turtle)),
        ("RDF", "application/rdf+xml", "c", "application/rdf+xml", xml),
        ("ZIP", "application/zip", "d.zip", "application/zip", _zip(lines, xml)),
        ("JSON-LD", None, "e.jsonld", "application/ld+json", _jsonld(data)),
        ("text/turtle", "text/turtle", "f.ttl", "application/octet-stream", turtle),
        ("application/n-triples", "", "g.nt.gz", "application/x-gzip", _gz(lines)),
    )[i // 4 % 7]
    resource_id = _id(holdings.root, f"{package['id']} 1")
    path = f"/dataset/{package['id']}/resource/{resource_id}/download/{name}"
    package["resources"].append(
        _resource(holdings.root, package["id"], 1, holdings.root + path, kind, mimetype)
    )
    if kind == "ZIP":  # inner type, in the fields of CKAN and ckanext-dcat
        media_types = "http://www.iana.org/assignments/media-types/application"
        package["resources"][-1] |= {
            "mimetype_inner": "application/n-triples",
            "package_format": f"{media_types}/zip",
        }
    holdings.files[path] = (served, body)
    if published:
        holdings.contents.update(data)


def _gz(data: bytes) -> bytes:
    return gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :])


def _jsonld(data: list[ox.Triple]) -> bytes:
    return write(data, "application/ld+json")


def _zip(lines: bytes, xml: bytes) -> bytes:
    """Pack the statements twice, together with a file that has none."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", "Read me.\n")
        archive.writestr("data/all.nt", lines)
        archive.writestr("data/more/all.rdf", xml)
    return packed.getvalue()
