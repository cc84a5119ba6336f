"""Namespaces of the vocabularies that the crawler reads and writes."""

from typing import Final

ADMS: Final = "http://www.w3.org/ns/adms#"
ATOM: Final = "http://www.w3.org/2005/Atom"  # of XML: no sign at its end
DC: Final = "http://purl.org/dc/elements/1.1/"
DCAT: Final = "http://www.w3.org/ns/dcat#"
DCATAP: Final = "http://data.europa.eu/r5r/"
DCATUS: Final = "http://resources.data.gov/ontology/dcat-us#"
DCTERMS: Final = "http://purl.org/dc/terms/"
DPV: Final = "https://w3id.org/dpv#"
FOAF: Final = "http://xmlns.com/foaf/0.1/"
GEOSPARQL: Final = "http://www.opengis.net/ont/geosparql#"
HDT: Final = "http://purl.org/HDT/hdt#"
HEALTH: Final = "http://healthdataportal.eu/ns/health#"
HTTP: Final = "http://www.w3.org/2011/http#"
HYDRA: Final = "http://www.w3.org/ns/hydra/core#"
JSON_LD: Final = "http://www.w3.org/ns/json-ld#"
LDES: Final = "https://w3id.org/ldes#"
LDP: Final = "http://www.w3.org/ns/ldp#"
LOCN: Final = "http://www.w3.org/ns/locn#"
MEDIA_TYPES: Final = "https://www.iana.org/assignments/media-types/"
OWL: Final = "http://www.w3.org/2002/07/owl#"
POSIX_STAT: Final = "http://www.w3.org/ns/posix/stat#"
PROV: Final = "http://www.w3.org/ns/prov#"
RC: Final = "urn:rdfcrawl:vocab#"  # of the crawler; cannot be dereferenced
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFA: Final = "http://www.w3.org/ns/rdfa#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
RELATIONS: Final = "http://www.iana.org/assignments/relation/"  # RFC 4287 4.2.7.2
RESOURCESYNC: Final = "http://www.openarchives.org/rs/terms/"
SCHEMA: Final = "http://schema.org/"
SCHEMA_HTTPS: Final = "https://schema.org/"
SD: Final = "http://www.w3.org/ns/sparql-service-description#"
SH: Final = "http://www.w3.org/ns/shacl#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
SPDX: Final = "http://spdx.org/rdf/terms#"
SQUIRREL: Final = "http://w3id.org/dice-research/squirrel/vocab#"
TREE: Final = "https://w3id.org/tree#"
TRIX: Final = "http://www.w3.org/2004/03/trix/trix-1/"
VCARD: Final = "http://www.w3.org/2006/vcard/ns#"
VOID: Final = "http://rdfs.org/ns/void#"
WGS84: Final = "http://www.w3.org/2003/01/geo/wgs84_pos#"
XHTML: Final = "http://www.w3.org/1999/xhtml"  # of XML: no sign at its end
XHV: Final = "http://www.w3.org/1999/xhtml/vocab#"
XML: Final = "http://www.w3.org/XML/1998/namespace"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"

RDF_TYPE: Final = RDF + "type"

PREFIXES: Final = {
    "dcat": DCAT,
    "dcterms": DCTERMS,
    "foaf": FOAF,
    "http": HTTP,
    "owl": OWL,
    "prov": PROV,
    "rc": RC,
    "rdf": RDF,
    "rdfs": RDFS,
    "schema": SCHEMA,
    "skos": SKOS,
    "sq": SQUIRREL,
    "void": VOID,
    "xsd": XSD,
}
"""Prefixes that are predefined in queries, and declared in Turtle files."""
