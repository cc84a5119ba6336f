"""Scraping rules: YAML files that say which parts of a page are which statements.

The notation is described in `docs/scraping.md`. Rules are read once, at start, and
what is wrong with them is a `ConfigError` that names file, line and rule; whatever a
page holds is never more than a fault. Nothing in a rule is evaluated as code. Rule
files of Squirrel are read too, as far as their notation can be carried over.

Selectors can take a time that grows with the square of a page: rules are applied in a
process that has bounds.
"""

from rdfcrawl.html.rules.load import Refusal, RuleSet, load_rules
from rdfcrawl.html.rules.model import Rule
from rdfcrawl.html.rules.scraping import scrape

__all__ = ["Refusal", "Rule", "RuleSet", "load_rules", "scrape"]
