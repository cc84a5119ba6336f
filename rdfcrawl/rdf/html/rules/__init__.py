"""Scrape pages by rules: YAML files that map parts of pages to statements.

`docs/reference/scraping.md` describes the notation. Rules are loaded at start; a
mistake in them is a `ConfigError` with file, line and rule, whereas the content of a
page can only cause a fault. Rules are never evaluated as code. Squirrel rule files work
too, as far as their notation has an equivalent.

Selectors can take quadratic time: rules are applied in a process with limits.
"""

from rdfcrawl.rdf.html.rules.load import RefusedRule, RuleSet, load_rules, rules_in
from rdfcrawl.rdf.html.rules.model import PageRule
from rdfcrawl.rdf.html.rules.scraping import scrape

__all__ = ["PageRule", "RefusedRule", "RuleSet", "load_rules", "rules_in", "scrape"]
