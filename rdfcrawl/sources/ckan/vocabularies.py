"""Codes and words of portals, and their terms in controlled vocabularies.

Source: authority tables of the EU Publications Office (frequency, file-type,
language, data-theme), the IANA registry of media types, CKAN's own list of licences.
"""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.namespaces import MEDIA_TYPES

EU: Final = "http://publications.europa.eu/resource/authority/"

_MEDIA_TYPE = re.compile(
    r"(application|audio|font|image|message|model|multipart|text|video)"
    r"/([a-z0-9][a-z0-9!#$&^_.+-]{0,126})"
).fullmatch
_NO_WORD = re.compile(r"[^a-z0-9]+")

_FREQUENCIES: Final = {
    "1MIN": "1min everyminute",
    "5MIN": "5min every5minutes",
    "10MIN": "10min every10minutes",
    "15MIN": "15min every15minutes",
    "30MIN": "30min every30minutes",
    "HOURLY": "hourly rpt1h pt1h",
    "BIHOURLY": "bihourly",
    "TRIHOURLY": "trihourly",
    "12HRS": "12hrs every12hours",
    "DAILY": "daily rp1d p1d everyday day",
    "DAILY_2": "twiceaday twicedaily",
    "WEEKLY": "weekly rp1w rp7d p7d p1w everyweek week",
    "WEEKLY_2": "twiceaweek semiweekly rp35d",
    "WEEKLY_3": "threetimesaweek rp033w",
    "BIWEEKLY": "biweekly fortnightly everytwoweeks every2weeks rp2w p2w rp14d",
    "MONTHLY": "monthly rp1m p1m everymonth month",
    "MONTHLY_2": "twiceamonth semimonthly rp05m",
    "MONTHLY_3": "threetimesamonth rp033m",
    "BIMONTHLY": "bimonthly everytwomonths every2months rp2m p2m",
    "QUARTERLY": "quarterly rp3m p3m everythreemonths every3months quarter",
    "ANNUAL_3": "threetimesayear rp4m p4m",
    "ANNUAL_2": "twiceayear semiannual semiannually biannually halfyearly rp6m p6m "
    "every6months everysixmonths",
    "ANNUAL": "annual annually yearly rp1y p1y everyyear year",
    "BIENNIAL": "biennial biennially everytwoyears every2years rp2y p2y",
    "TRIENNIAL": "triennial triennially everythreeyears every3years rp3y p3y",
    "QUADRENNIAL": "quadrennial everyfouryears every4years rp4y p4y",
    "QUINQUENNIAL": "quinquennial everyfiveyears every5years rp5y p5y",
    "DECENNIAL": "decennial decennially everytenyears every10years rp10y p10y",
    "BIDECENNIAL": "bidecennial",
    "TRIDECENNIAL": "tridecennial",
    "CONT": "cont continuous continual realtime",
    "UPDATE_CONT": "updatecont continuouslyupdated continuously rpt1s",
    "AS_NEEDED": "asneeded adhoc",
    "IRREG": "irreg irregular irregularly",
    "NEVER": "never notplanned none",
    "NOT_PLANNED": "noupdatesplanned",
    "UNKNOWN": "unknown unbekannt",
    "OTHER": "other",
}
_FREQUENCY_OF: Final = {
    word: code for code, words in _FREQUENCIES.items() for word in words.split()
}
# The same name in the table, or another: `word=NAME`
_FILE_TYPES: Final = """
7Z ATOM BIN BMP BZIP2 CSS CSV DBF DGN DOC DOCX DWG DXF E00 ECW EPS EPUB GDB GEOJSON
GEOTIFF GIF GML GMZ GPKG GRID GRID_ASCII GTFS GZIP HDF HDT HTML ICS ISO JPEG JPEG2000
JS JSON JSON_LD KML KMZ LAS LAZ LPK MAP_PRVW MAP_SRVC MBOX MDB MHTML MOV MP3 MPEG4
MRSID MXD N3 NETCDF OCTET ODB ODC ODF ODG ODP ODS ODT OWL PDF PNG PPS PPSX PPT PPTX PS
PSD QGS RAR RDF RDFA RDF_N_QUADS RDF_N_TRIPLES RDF_THRIFT RDF_TRIG RDF_TRIX RDF_TURTLE
RDF_XML REST RSS RTF SCHEMA_XML SDMX SGML SHP SKOS_XML SPARQLQ SPARQLQRES SQL SVG TAB
TAR TAR_GZ TAR_XZ TIFF TMX TSV TXT WARC WAV WCS_SRVC WFS_SRVC WMS_SRVC WMTS_SRVC XHTML
XLIFF XLS XLSB XLSM XLSX XML XSLT XYZ XZ YAML ZIP jsonld=JSON_LD turtle=RDF_TURTLE
ttl=RDF_TURTLE rdfturtle=RDF_TURTLE rdfxml=RDF_XML ntriples=RDF_N_TRIPLES
nt=RDF_N_TRIPLES nquads=RDF_N_QUADS nq=RDF_N_QUADS trig=RDF_TRIG rdfn3=N3 jpg=JPEG
tif=TIFF htm=HTML text=TXT excel=XLS shape=SHP shapefile=SHP esrishapefile=SHP gz=GZIP
tgz=TAR_GZ bz2=BZIP2 yml=YAML wms=WMS_SRVC wmts=WMTS_SRVC wcs=WCS_SRVC wfs=WFS_SRVC
sparql=SPARQLQ geopackage=GPKG webpage=HTML website=HTML microsoftexcel=XLS
openxml=XLSX ical=ICS icalendar=ICS netcdf4=NETCDF
"""
_LANGUAGES: Final = """
bg=BUL cs=CES da=DAN de=DEU el=ELL en=ENG es=SPA et=EST fi=FIN fr=FRA ga=GLE hr=HRV
hu=HUN it=ITA lt=LIT lv=LAV mt=MLT nl=NLD pl=POL pt=POR ro=RON sk=SLK sl=SLV sv=SWE
ar=ARA be=BEL bs=BOS ca=CAT cy=CYM eu=EUS gl=GLG he=HEB hi=HIN is=ISL ja=JPN ka=KAT
ko=KOR lb=LTZ mk=MKD nb=NOB nn=NNO no=NOR ru=RUS sq=SQI sr=SRP tr=TUR uk=UKR zh=ZHO
ger=DEU fre=FRA dut=NLD gre=ELL cze=CES rum=RON slo=SLK ice=ISL alb=SQI baq=EUS
mac=MKD chi=ZHO geo=KAT rm=ROH fa=FAS id=IND
"""
_THEMES: Final = (
    "AGRI ECON EDUC ENER ENVI GOVE HEAL INTR JUST OP_DATPRO REGI SOCI TECH TRAN"
)
_CC: Final = "http://creativecommons.org/"
_ODC: Final = "http://opendatacommons.org/licenses/"
_LICENCES: Final = {
    "cc-by": "http://www.opendefinition.org/licenses/cc-by",
    "cc-by-sa": "http://www.opendefinition.org/licenses/cc-by-sa",
    "cc-by-4.0": f"{_CC}licenses/by/4.0/",
    "cc-by-sa-4.0": f"{_CC}licenses/by-sa/4.0/",
    "cc-by-nc-4.0": f"{_CC}licenses/by-nc/4.0/",
    "cc-by-nd-4.0": f"{_CC}licenses/by-nd/4.0/",
    "cc-nc": f"{_CC}licenses/by-nc/2.0/",
    "cc-zero": "http://www.opendefinition.org/licenses/cc-zero",
    "cc0-1.0": f"{_CC}publicdomain/zero/1.0/",
    "gfdl": "http://www.opendefinition.org/licenses/gfdl",
    "odc-by": f"{_ODC}by/",
    "odc-odbl": f"{_ODC}odbl/",
    "odc-pddl": f"{_ODC}pddl/",
    "uk-ogl": "http://reference.data.gov.uk/id/open-government-licence",
    "dl-de-by-2.0": "https://www.govdata.de/dl-de/by-2-0",
    "dl-de-zero-2.0": "https://www.govdata.de/dl-de/zero-2-0",
}


def parse_pairs(text: str) -> dict[str, str]:
    """Parse pairs of word and name: `word=NAME`, or only a name."""
    entries = (entry.partition("=") for entry in text.split())
    return {word_of(word): name or word for word, _, name in entries}


def word_of(text: str) -> str:
    """Return a text for comparison: lower case, letters and digits only.

    >>> word_of("R/P1Y"), word_of(" Semi-Annual ")
    ('rp1y', 'semiannual')
    """
    return _NO_WORD.sub("", text.lower())


_FILE_TYPE_OF: Final = parse_pairs(_FILE_TYPES)
_LANGUAGE_OF: Final = parse_pairs(_LANGUAGES)
_THEME_CODES: Final = frozenset(parse_pairs(_THEMES).values())
_LANGUAGE_CODES: Final = frozenset(_LANGUAGE_OF.values())


def frequency(text: str) -> str:
    """Return the IRI of an update frequency; empty if unknown."""
    upper = text.strip().upper()
    own = upper if upper in _FREQUENCIES else ""
    code = _FREQUENCY_OF.get(word_of(text), own)
    return f"{EU}frequency/{code}" if code else ""


def file_type(text: str) -> str:
    """Return the IRI of a file format; empty if unknown."""
    name = _FILE_TYPE_OF.get(word_of(text), "")
    return f"{EU}file-type/{name}" if name else ""


def media_type(text: str) -> str:
    """Return the IRI of a media type; empty if the text does not have its form.

    >>> media_type("Text/CSV; charset=utf-8")
    'https://www.iana.org/assignments/media-types/text/csv'
    """
    essence = text.partition(";")[0].strip().lower()
    return MEDIA_TYPES + essence if _MEDIA_TYPE(essence) else ""


def language(text: str) -> str:
    """Return the IRI of a language code of ISO 639; empty if unknown."""
    code = re.split("[-_]", text.strip().lower())[0]
    own = code.upper() if code.upper() in _LANGUAGE_CODES else ""
    name = _LANGUAGE_OF.get(code, own)
    return f"{EU}language/{name}" if name else ""


def theme(text: str) -> str:
    """Return the IRI of an EU data theme; empty if the text is not its code."""
    code = text.strip().upper()
    return f"{EU}data-theme/{code}" if code in _THEME_CODES else ""


def licence(identifier: str) -> str:
    """Return the IRI of the licence with this CKAN id; empty if unknown."""
    return _LICENCES.get(identifier.strip().lower().replace("_", "-"), "")
