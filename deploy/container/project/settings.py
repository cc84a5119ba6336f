"""Settings of the crawl in `compose.yml`; seeds are in `seeds.txt` beside them."""

ADDONS = {"rdfcrawl.Addon": 500}
COMMANDS_MODULE = "rdfcrawl.commands"
USER_AGENT = "example-crawler (+https://example.org/crawler)"  # who you are, and where
REDIS_URL = "redis+cluster://redis1:6379,redis2:6379,redis3:6379"
CRAWL_ID = "example"
CRAWL_DIR = "/data"
LOG_FORMAT = "json"
PROGRESS = "log"
