"""Spatial and temporal coverage of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import DCAT, DCTERMS, GEOSPARQL, HEALTH, LOCN, SKOS
from rdfcrawl.rdf import terms
from rdfcrawl.sources.ckan.fields import TYPE, DatasetWriter
from rdfcrawl.sources.ckan.values import (
    PackageFields,
    decoded,
    is_empty,
    iter_objects,
    iter_values,
    text_of,
)

MAX_POSITIONS: Final = 100_000  # of one geometry

_WKT = re.compile(
    r"(?:<[^<>\s]+>\s*+|SRID=\d+;\s*+)?"
    r"(?:MULTI)?(?:POINT|LINESTRING|POLYGON|GEOMETRYCOLLECTION|ENVELOPE)\s*+"
    r"(?:ZM?|M)?\s*+(?:\(|EMPTY)",
    re.IGNORECASE,
).match
_SRID = re.compile(r"\ASRID=(\d+);\s*", re.IGNORECASE)
_NUMBER = r"[+-]?\d{1,3}(?:\.\d{1,20})?"
_BOX = re.compile(
    rf"\s*+({_NUMBER})(?:\s*+,|\s)" * 3 + rf"\s*+({_NUMBER})\s*+"
).fullmatch
_DEPTHS: Final = {
    "Point": 0,
    "MultiPoint": 1,
    "LineString": 1,
    "MultiLineString": 2,
    "Polygon": 2,
    "MultiPolygon": 3,
}
_GEOMETRIES: Final = (
    (("geom", "geometry"), f"{LOCN}geometry"),
    (("bbox",), f"{DCAT}bbox"),
    (("centroid",), f"{DCAT}centroid"),
)
_BOUNDS: Final = ("west-long", "south-lat", "east-long", "north-lat")


def iter_spatial(
    fields: PackageFields, dataset: str, writer: DatasetWriter
) -> Iterator[str]:
    """Yield statements about places: IRIs, labels, GeoJSON, WKT, bounding boxes."""
    for one in iter_objects(fields.get("spatial_coverage")):
        yield from _place(one, dataset, writer)
    flat = {
        "uri": fields.get("spatial_uri"),
        "text": fields.get("spatial_text", "spatial_name"),
        "bbox": fields.get("spatial_bbox"),
        "centroid": fields.get("spatial_centroid"),
    }
    bounds = [fields.text(f"bbox-{key}") for key in _BOUNDS]
    if all(bounds) and is_empty(flat["bbox"]):
        flat["bbox"] = ",".join(bounds)
    spatial = decoded(fields.get("spatial", "spatial_geom"))
    if isinstance(spatial, dict | list) and not _is_geometry(spatial):
        for one in iter_values(spatial):
            place = one if isinstance(one, dict) else {"text": one}
            yield from _place(_sorted_out(place, writer), dataset, writer)
    else:
        flat |= {
            key: value
            for key, value in _sorted_out({"geom": spatial}, writer).items()
            if is_empty(flat.get(key))
        }
    if not all(map(is_empty, flat.values())):
        yield from _place(flat, dataset, writer)


def iter_temporal(
    fields: PackageFields, dataset: str, writer: DatasetWriter
) -> Iterator[str]:
    """Yield statements about the periods of coverage and of retention."""
    for one in iter_objects(fields.get("temporal_coverage")):
        yield from _period(one, dataset, f"{DCTERMS}temporal", writer)
    flat = {
        "start": fields.get("temporal_start", "temporal-extent-begin"),
        "end": fields.get("temporal_end", "temporal-extent-end"),
    }
    temporal = fields.get("temporal")
    if isinstance(temporal, str) and temporal.count("/") == 1:  # ISO 8601 interval
        start, _, end = temporal.partition("/")
        flat = {"start": flat["start"] or start, "end": flat["end"] or end}
    yield from _period(flat, dataset, f"{DCTERMS}temporal", writer)
    yield from iter_retention(fields, dataset, writer)


def iter_retention(
    fields: PackageFields, subject: str, writer: DatasetWriter
) -> Iterator[str]:
    """Yield statements about the retention period of a dataset or distribution."""
    for one in iter_objects(fields.get("retention_period")):
        yield from _period(one, subject, f"{HEALTH}retentionPeriod", writer)


def wkt_of(geometry: Any) -> str:
    """Return a GeoJSON geometry as WKT; empty if invalid or too large.

    >>> wkt_of({"type": "Point", "coordinates": [7.1, 50.7]})
    'POINT (7.1 50.7)'
    """
    if not isinstance(geometry, dict):
        return ""
    if geometry.get("type") == "Feature":
        geometry = geometry.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(kind, str) or kind not in _DEPTHS:
        return ""
    left = [MAX_POSITIONS]
    try:
        text = _positions(geometry.get("coordinates"), _DEPTHS[kind], left)
    except (TypeError, ValueError):
        return ""
    return f"{kind.upper()} {text if _DEPTHS[kind] else f'({text})'}"


def _positions(value: Any, depth: int, left: list[int]) -> str:
    if not isinstance(value, list) or not value:
        raise TypeError
    if depth:
        return f"({', '.join(_positions(one, depth - 1, left) for one in value)})"
    left[0] -= 1
    if left[0] < 0 or len(value) < 2:
        raise ValueError
    numbers = [text_of(one) for one in value[:2] if type(one) in {int, float}]
    if len(numbers) < 2 or not all(numbers):
        raise ValueError
    return " ".join(numbers)


def _is_geometry(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _sorted_out(place: Mapping[str, Any], writer: DatasetWriter) -> dict[str, Any]:
    """Return a place with any IRI, box or label moved from its geometries."""
    found = dict(place)
    for key in ("geom", "text"):
        value = found.get(key)
        text = text_of(value)
        if not text:
            continue
        if writer.iri(text):
            found["uri"], found[key] = text, None
        elif _BOX(text):
            found["bbox"], found[key] = text, None
        elif key == "geom" and not _WKT(text):
            found["text"], found[key] = text, None
    return found


def _place(
    place: Mapping[str, Any], dataset: str, writer: DatasetWriter
) -> Iterator[str]:
    fields = PackageFields(place)
    node = writer.node(fields.get("uri"))
    label = fields.get("text", "label", "name")
    lines = writer.texts(node, f"<{SKOS}prefLabel>", label)
    values = [(fields.get(*keys), predicate) for keys, predicate in _GEOMETRIES]
    if _is_geometry(place):
        values.append((place, f"{LOCN}geometry"))
    for value, predicate in values:
        lines.extend(
            terms.statement(node, f"<{predicate}>", literal)
            for literal in _geometries(value, writer)
        )
    if lines or not node.startswith("_:"):
        yield terms.statement(dataset, f"<{DCTERMS}spatial>", node)
        yield terms.statement(node, TYPE, f"<{DCTERMS}Location>")
        yield from lines


def _geometries(value: Any, writer: DatasetWriter) -> Iterator[str]:
    """Yield a geometry as WKT, and also as GeoJSON if the value is GeoJSON."""
    value = decoded(value)
    if is_empty(value):
        return
    text = text_of(value)
    if text and (box := _BOX(text)):
        west, south, east, north = box.groups()
        south_edge = f"{west} {south}, {east} {south}"
        ring = f"{south_edge}, {east} {north}, {west} {north}, {west} {south}"
        yield writer.literal(f"POLYGON (({ring}))", datatype=f"{GEOSPARQL}wktLiteral")
    elif text and _WKT(text):
        crs = r"<http://www.opengis.net/def/crs/EPSG/0/\1> "
        yield writer.literal(_SRID.sub(crs, text), datatype=f"{GEOSPARQL}wktLiteral")
    elif text:
        yield writer.unsuitable(text, "not a geometry")
    elif wkt := wkt_of(value):
        compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield writer.literal(compact, datatype=f"{GEOSPARQL}geoJSONLiteral")
        yield writer.literal(wkt, datatype=f"{GEOSPARQL}wktLiteral")
    elif _is_geometry(value):
        writer.log.note(Reason.BAD_TERM, f"not a geometry: {value!r:.200}")


def _period(
    period: Mapping[str, Any], subject: str, predicate: str, writer: DatasetWriter
) -> Iterator[str]:
    fields = PackageFields(period)
    start = fields.text("start", "from", "start_date", "startDate")
    end = fields.text("end", "to", "end_date", "endDate")
    if not (start or end):
        return
    node = writer.new_blank()
    yield terms.statement(subject, f"<{predicate}>", node)
    yield terms.statement(node, TYPE, f"<{DCTERMS}PeriodOfTime>")
    for text, name in ((start, "startDate"), (end, "endDate")):
        if text and (term := writer.date(text)):
            yield terms.statement(node, f"<{DCAT}{name}>", term)
