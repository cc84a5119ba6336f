"""The settings of a project that has the add-on, and nothing else of ours."""

SPIDER_MODULES = ["tests.support.slow_spiders"]
ADDONS = {"rdfcrawl.Addon": 500}
