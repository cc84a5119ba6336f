"""One step of the harvest of a source, with its complete state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from glob import glob
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Final, Literal, Self, TypeAlias
from urllib.parse import quote, unquote, urlsplit

DEFAULT_ROWS: Final = 100  # 0.2 to 2 MB with the usual descriptions
UNKNOWN: Final = -1
MAX_STEP_CHARS: Final = 2048  # of the text of a task, whose names are part of a query
LOCAL_SCHEME: Final = "warc-file"


@dataclass(frozen=True, slots=True)
class RobotsTask:
    """The robots.txt of a site, whose sitemaps are read."""

    TAG: ClassVar = "robots"

    # read only descriptions of datasets, to confirm claims of others
    is_confirming: bool = False
    # read only datasets, in a crawl that follows links
    only_datasets: bool = False


@dataclass(frozen=True, slots=True)
class ConsentTask:
    """The robots.txt of a site, as consent to sitemaps of others that list its URLs."""

    TAG: ClassVar = "consent"

    site: str  # see `site_of`


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapTask:
    """One reading of one sitemap."""

    TAG: ClassVar = "sitemap"

    # hosts whose robots.txt names it, or the index that lists it; see
    # `addresses.may_list`
    robots_hosts: tuple[str, ...] = ()
    is_confirming: bool = False  # see `RobotsTask`
    only_datasets: bool = False  # likewise
    depth: int = 0  # indexes above it
    # time of the last ping for it, or for the index that lists it, in ms: it is read
    # again in the same run; 0: no ping
    ping: int = 0
    is_guess: bool = False  # not named anywhere: it is tried at `/sitemap.xml`
    n_below: int = 0  # sitemaps that it lists and that are read, if `only_datasets`

    @property
    def wants_entries(self) -> bool:
        """Whether the pages and sitemaps that it lists are requested."""
        return not (self.is_confirming or self.only_datasets)

    def below(self) -> Self:
        """Return the task of a sitemap that this one, an index, lists.

        It is not read if its depth exceeds `SitemapLimits.depth`.
        """
        depth = self.depth + 1
        return replace(self, depth=depth, ping=0, is_guess=False, n_below=0)


class SyncStep(StrEnum):
    """How the response is read."""

    READ = "read"  # a document of ResourceSync
    UNPACK = "unpack"  # a part of a dump
    GET = "get"  # a resource
    PATCH = "patch"  # changes of a resource


class SyncMode(StrEnum):
    """Why a source is read."""

    SYNC = "sync"  # as its state requires
    BASELINE = "baseline"  # all of it, for the first time
    CHANGES = "changes"  # changes since the last time
    AUDIT = "audit"  # all of it, to compare with the stored state


class SyncCapability(StrEnum):
    """The capability of a document, by its `rs:md`."""

    DESCRIPTION = "description"
    CAPABILITY_LIST = "capabilitylist"
    RESOURCE_LIST = "resourcelist"
    RESOURCE_DUMP = "resourcedump"
    RESOURCE_DUMP_MANIFEST = "resourcedump-manifest"
    CHANGE_LIST = "changelist"
    CHANGE_DUMP = "changedump"
    CHANGE_DUMP_MANIFEST = "changedump-manifest"
    RESOURCE_LIST_ARCHIVE = "resourcelist-archive"
    RESOURCE_DUMP_ARCHIVE = "resourcedump-archive"
    CHANGE_LIST_ARCHIVE = "changelist-archive"
    CHANGE_DUMP_ARCHIVE = "changedump-archive"


class ResourceChange(StrEnum):
    """The change of a resource; a move is a deletion and a creation."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTask:
    """One step of the synchronization with a source."""

    TAG: ClassVar = "sync"

    do: SyncStep = SyncStep.READ  # see `SyncStep`
    mode: SyncMode = SyncMode.SYNC  # see `SyncMode`
    source: str = ""  # `source_id` of the set of resources; empty if still unknown
    site: str = ""  # registered domain of the source, which limits its statements
    # one reading of the source; the parts of different runs are different records
    run: str = ""
    # of resources
    change: ResourceChange | None = None  # of the resource
    as_of_us: int | None = None  # time of that state; Unix time in microseconds
    modified_us: int | None = None  # its last modification
    hashes: str = ""  # of the resource, as `ExpectedBytes.text`
    length: int | None = None  # of the resource in bytes
    media_type: str = ""  # of the resource; of a patch, that of the patch
    encoding: str = ""  # content coding to which hashes and length refer
    uri: str = ""  # of the resource, if different from the URL of the record
    others: tuple[str, ...] = ()  # alternative URLs of the resource, in order
    patch_hashes: str = ""  # of a patch
    patch_length: int | None = None  # of a patch
    # of documents
    part: str = ""  # place in the run, see `runs`
    expected: SyncCapability | None = None  # required of the document; None: any
    # capabilities that failed in this run and are not tried again
    without: tuple[str, ...] = ()
    depth: int = 0  # documents from the first one to here
    cursor: int = 0  # number of processed entries of the document
    version: str = ""  # of the document that `cursor` refers to
    seen_us: int | None = None  # latest change before `cursor`
    has_datetime: bool = False  # `datetime` occurs before `cursor`
    manifest: str = ""  # of a part of a dump: place of a copy of its manifest


@dataclass(frozen=True, slots=True)
class SyncSearch:
    """The search for a source that can be synchronized."""

    TAG: ClassVar = "search"

    # `site`, its description; `page`; `robots`; `given`, named by the operator;
    # `list`, maybe a document of ResourceSync; `above`, one that such a document names;
    # `below`, the first document again; `only`, the description of a site and no other
    step: Literal["site", "page", "robots", "given", "list", "above", "below", "only"]
    below: str = ""  # of `above`: the document that names it


class CkanStep(StrEnum):
    """The kind of request."""

    SEARCH = "search"  # a page of package_search
    CURRENT = "current"  # a page of current_package_list_with_resources
    NAMES = "names"  # a page of package_list, whose datasets are then requested
    SHOW = "show"  # one dataset
    LISTING = "listing"  # a page of package_list, to find deletions
    CONFIRM = "confirm"  # datasets that the listing lacks
    ABOUT = "about"  # the portal itself


class CkanOrder(StrEnum):
    """Order of the pages of a search; each is weaker than the one before.

    By `KEYSET` a page begins at the time of the last row of the previous page, so no
    row is missed when others move. By `SORTED` and `PLAIN` rows are counted; `PLAIN` is
    for portals that refuse to sort.
    """

    KEYSET = "keyset"
    SORTED = "sorted"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanTask:
    """One request of the harvest of a portal; equal tasks are the same request."""

    TAG: ClassVar = "ckan"

    step: CkanStep
    ids: tuple[str, ...] = ()  # datasets to show or confirm
    start: int = 0  # offset of the page in rows
    rows: int = DEFAULT_ROWS  # requested
    most: int = DEFAULT_ROWS  # maximum to request
    # id of the last row of the previous page, which is repeated; for `NAMES` and
    # `LISTING` the first name of the previous page
    last: str = ""
    page: int = 0  # number of pages before
    cursor: str = ""  # least time of the page, by `KEYSET`
    expected: int = 0  # known minimum number of rows
    since: str = ""  # only yield datasets modified at this time or later
    is_sweep: bool = False  # read all pages anyway, to mark existing datasets
    finds_deleted: bool = False  # compare identifiers at the end
    # the sweep replaces the list of names, which is unavailable
    is_listing: bool = False
    order: CkanOrder = CkanOrder.KEYSET  # of the pages of a search
    n_backs: int = 0  # times that reading had to go back
    is_alone: bool = False  # for `CONFIRM`: each dataset is requested separately


SparqlStep = Literal[
    "describe",  # GET without a query
    "probe",  # how blank nodes are named, and whether they are distinguishable
    "stable",  # whether labels are the same in the next response
    "graphs",  # list the named graphs
    "default",  # whether the default graph is more than the union of the named ones
    "whole",  # all of some graphs in one response
    "count",  # of one partition
    "group",  # count of one subject that is larger than a page
    "split",  # list the predicates or classes of a partition
    "hashes",  # counts by a hash of the rows, to cut a partition in any number
    "page",  # rows after a key, in order
    "offset",  # rows after a number of rows
    "components",  # connected components of blank nodes
    "datasets",  # list the datasets after a key
    "about",  # descriptions of some datasets
    "query",  # the user's own
]
BlankNaming = Literal[
    "",  # not known, or no blank node was found
    "key",  # STR of a blank node is its label, which is stable (Virtuoso)
    "str",  # STR of a blank node is its label; responses differ (Jena 5)
    "arq",  # the same by a function of Jena's (before STR did it)
    "stable",  # labels are the same in every response, but not in expressions
    "local",  # labels are valid in one response
]
RowOrder = Literal[
    "",  # none: all rows of the partition are in one response
    "s",  # by the subject
    "so",  # by the subject and a hash of the object: for subjects of many rows
    "h",  # by a hash of the subject: for IRIs that do not fit into a query
    "o",  # by a hash of the object, for one subject
]
RowHash = Literal[
    "md5",
    "chars",  # of the last characters, for endpoints without MD5
]
RowTerms = Literal[
    "",  # all
    "iri",  # IRI subjects
    "blank",  # blank subjects
    "ground",  # no blank node in it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlPart:
    """Some of the triples of an endpoint."""

    graph: str = ""  # name of the named graph; empty is the default graph
    predicate: str = ""  # of all triples; empty if any
    low: str = ""  # subjects' keys are greater than this; empty if any
    high: str = ""  # subjects' keys are not greater than this; empty if any
    rows: RowTerms = ""  # kinds of terms
    cls: str = ""  # object of all triples; empty if any
    no_iri: bool = False  # objects are not IRIs
    subject: str = ""  # key of the one subject; empty if any
    obj: str = ""  # hash of the one object; empty if any
    hashing: RowHash = "md5"  # of rows; the better that the endpoint has not refused
    # hashes of rows are not less than the first, and less than the second; hexadecimal
    hash_low: str = ""
    hash_high: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSize:
    """Sizes of the pages of a partition, as its failures teach them."""

    top: int = 0  # LIMIT before the first failure; 0: nothing failed
    best: int = 0  # largest page since then that succeeded; 0: none
    worst: int = 0  # smallest page that failed
    wait: int = 0  # pages before `worst` is tried again; 0: it failed only once
    left: int = 0  # pages until then


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlTask:
    """One request of a harvest, and the state of the harvest before it."""

    TAG: ClassVar = "sparql"

    step: SparqlStep
    part: SparqlPart = SparqlPart()  # requested triples
    limit: int = 0  # LIMIT of the query
    naming: BlankNaming = ""  # how the endpoint names blank nodes
    # the endpoint declares its default graph as the union of the named ones
    has_union: bool = False
    as_xml: bool = False  # XML results work better than CSV or TSV
    want: int = UNKNOWN  # existing rows, or `UNKNOWN`
    got: int = 0  # rows read
    after: str = ""  # last key read
    order: RowOrder = "s"  # of a `page`
    most: int = 0  # most rows of a response
    size: PageSize = PageSize()  # of a `page`; `limit` is its present value
    # graphs of the step `whole`; the empty name is the default graph
    graphs: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()  # rows of each of these graphs; empty if unknown
    offset: int = 0  # of an `offset`, `components` or `query`
    cuts: int = 0  # times the partition was cut again
    fails: int = 0  # consecutive failures of this request
    variant: int = 0  # form of the query; 0 is the best
    seen: tuple[str, ...] = ()  # labels of the previous response, for `stable`
    is_unsorted: bool = False  # a larger partition could not be sorted
    can_hash: bool = True  # hashes may cut the partition
    n_tries: int = 0  # times that the endpoint deferred the request
    has_answered: bool = False  # an earlier request of the harvest had a response


@dataclass(frozen=True, slots=True)
class SparqlPing:
    """The request that tests whether an endpoint exists."""

    TAG: ClassVar = "ping"

    number: int  # positive results of the same test in the previous run


@dataclass(frozen=True, slots=True)
class WarcTask:
    """A part of a WARC file.

    Attributes:
        offset: of its first byte in the file.
        doublings: number of times its length is doubled, since a shorter part did not
            contain a complete record.
        seeks: its first byte may be within a record.
    """

    TAG: ClassVar = "warc"

    offset: int = 0
    doublings: int = 0
    seeks: bool = False


@dataclass(frozen=True, slots=True)
class CustomTask:
    """One request of a source for a user's harvester."""

    TAG: ClassVar = "custom"

    harvester: str  # its name in the setting `HARVESTERS`
    # step of the harvest, defined by the harvester: ASCII without control characters
    payload: str = ""


Payload: TypeAlias = (
    CkanTask
    | SparqlTask
    | SparqlPing
    | SyncTask
    | SyncSearch
    | SitemapTask
    | RobotsTask
    | ConsentTask
    | CustomTask
    | WarcTask
)


@dataclass(frozen=True, slots=True)
class SourceTask:
    """Step of the harvest of a source."""

    TAG: ClassVar = "source"

    run: int  # of the crawl: another run requests it again
    is_named: bool = False  # named by the operator, not discovered
    payload: Payload | None = None  # step of the harvest; None is the first one
    # graphs of an endpoint to read (`DatasetAccess.graphs`); all if empty
    graphs: tuple[str, ...] = ()


def url_of_file(path: Path) -> str:
    """Return the URL of a local file.

    >>> url_of_file(Path("/data/a b.warc.gz")).partition("/data")[2]
    '/a%20b.warc.gz'
    """
    absolute = str(path.absolute())
    digest = blake2b(absolute.encode("utf-8", "surrogateescape"), digest_size=8)
    return f"{LOCAL_SCHEME}://{digest.hexdigest()}{quote(absolute)}"


def file_of_url(url: str) -> Path | None:
    """Return the local file of a URL; None if the URL is not of a local file."""
    parts = urlsplit(url)
    path = Path(unquote(parts.path, errors="surrogateescape"))
    return path if url_of_file(path) == url else None


def matching_files(pattern: str) -> list[Path]:
    """Return the files that match a path or a pattern (`*`, `?`, `**`), sorted."""
    if (path := Path(pattern).expanduser()).is_file():
        return [path]
    found = glob(str(path), recursive=True)  # noqa: PTH207  of any folder
    return [each for each in map(Path, sorted(found)) if each.is_file()]
