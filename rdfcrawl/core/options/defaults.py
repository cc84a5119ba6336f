"""Settings of Scrapy with another default; `docs/reference/settings.md` lists them.

They hold for our spiders in any project, and for all spiders of our own project. The
names keep their meaning. The tables of settings have the defaults of all others.
"""

# Identification.
USER_AGENT = "rdfcrawl/0.1 (+https://github.com/rdfcrawl/rdfcrawl)"
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "rdfcrawl"

# The crawl, and where it is kept.
SCHEDULER = "rdfcrawl.frontier.scheduler.FrontierScheduler"
"""the queue is in Redis"""

# Politeness.
DOWNLOAD_DELAY = 1.0
CONCURRENT_REQUESTS = 32
DOWNLOAD_SLOTS = {"visits": {"concurrency": 10_000, "delay": 0}}
"""the frontier paces each host; Scrapy would pace visits of all hosts as if they were
one"""

# The visit.
DOWNLOAD_HANDLERS = {
    "visit": "rdfcrawl.downloader.handler.VisitHandler",
    "http": "rdfcrawl.downloader.handler.HttpHandler",
    "https": "rdfcrawl.downloader.handler.HttpHandler",
    "file": None,
    "data": None,
    "s3": None,
    "ftp": None,
}
"""a link must not lead to the files of this machine; visits read [FTP](ftp.md)
themselves"""
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
"""no warning for large documents: dumps are"""
DOWNLOAD_VERIFY_CERTIFICATES = True
RETRY_TIMES = 2
REDIRECT_MAX_TIMES = 5
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "rdfcrawl.middlewares.robots.RobotsMiddleware": 100,
    "rdfcrawl.middlewares.offers.OffersMiddleware": 110,
}
"""they know visits"""

# The document.
ITEM_PROCESSOR = "rdfcrawl.pipelines.items.DocumentPipelines"
"""calls the item pipelines as Scrapy does, with less per document"""
ITEM_PIPELINES = {
    "rdfcrawl.pipelines.extract.ExtractPipeline": 300,
    "rdfcrawl.pipelines.chunks.SlicesPipeline": 400,
    "rdfcrawl.pipelines.chunks.KeepPipeline": 490,
    "rdfcrawl.pipelines.store.StorePipeline": 500,
    "rdfcrawl.pipelines.discover.DiscoverPipeline": 700,
    "rdfcrawl.pipelines.facts.FactsPipeline": 800,
    "rdfcrawl.pipelines.logs.LinkLogPipeline": 850,
    "rdfcrawl.pipelines.logs.DecisionLogPipeline": 870,
    "rdfcrawl.pipelines.account.AccountPipeline": 900,
    "rdfcrawl.pipelines.logs.ArchivePipeline": 950,
}
"""[the way of a document](../explanation/architecture.md#the-way-of-a-uri)"""

# Output for the operator.
LOG_LEVEL = "INFO"
"""no line per document"""
LOG_FORMATTER = "rdfcrawl.launch.scrapy_classes.QuietLogFormatter"
"""the same"""
FEED_EXPORTERS = {
    "nq": "rdfcrawl.pipelines.quad_feeds.NQuadsExporter",
    "nt": "rdfcrawl.pipelines.quad_feeds.NTriplesExporter",
    "trig": "rdfcrawl.pipelines.quad_feeds.TriGExporter",
    "ttl": "rdfcrawl.pipelines.quad_feeds.TurtleExporter",
    "jsonld": "rdfcrawl.pipelines.quad_feeds.JsonLdExporter",
}
"""formats of [feeds](commands.md#feeds) in addition to those of Scrapy; yours are
added"""
STATS_DUMP = False
"""the summary says it in fewer lines; `-s STATS_DUMP=True` prints all
[statistics](statistics.md)"""
EXTENSIONS = {
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.corestats.CoreStats": None,
    "rdfcrawl.launch.scrapy_classes.CrawlStats": 0,
    "rdfcrawl.launch.progress.ProgressReport": 100,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "rdfcrawl.pipelines.feeds.FeedsExtension": 200,
}
"""it counts over all workers"""

CONCURRENT_ITEMS = 1
"""one document at a time keeps memory small, and costs less than 100 tasks"""
WARN_ON_GENERATOR_RETURN_VALUE = False
"""it would look at the source of the callback for each visit"""

# Disabled features of Scrapy.
TELNETCONSOLE_ENABLED = False
"""no door into a crawler"""
REMOTE_CONTROL_ENABLED = False
"""the same"""
COOKIES_ENABLED = False
"""data do not depend on who asks"""
METAREFRESH_ENABLED = False
"""HTML does not redirect data"""
REFERRER_POLICY = "no-referrer"
"""no referrer is sent"""
URLLENGTH_LIMIT = 2083
"""Scrapy's own, for ordinary requests"""
