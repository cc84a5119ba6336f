"""Settings of the crawl; seeds are in `seeds.txt` beside them."""

import os

ADDONS = {"rdfcrawl.Addon": 500}
COMMANDS_MODULE = "rdfcrawl.commands"
USER_AGENT = "example-crawler (+https://example.org/crawler)"  # who you are, and where
REDIS_URL = os.environ["REDIS_URL"]
CRAWL_ID = "example"
CRAWL_DIR = "/data"
LOG_FORMAT = "json"
PROGRESS = "log"
