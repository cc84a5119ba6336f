"""Scrape pages by rules: YAML files that map parts of pages to statements.

The notation is described in `docs/reference/scraping.md`. Rules are read once, at
start; an error in them is a `ConfigError` that names file, line and rule, whereas
the content of a page can only cause a fault. Nothing in a rule is evaluated as code.
Rule files of Squirrel are read too, as far as their notation has an equivalent.

The time of a selector can grow with the square of the page: rules are applied in a
process with limits.
"""

from rdfcrawl.rdf.html.rules.load import RefusedRule, RuleSet, load_rules
from rdfcrawl.rdf.html.rules.model import PageRule
from rdfcrawl.rdf.html.rules.scraping import scrape

__all__ = ["PageRule", "RefusedRule", "RuleSet", "load_rules", "scrape"]
