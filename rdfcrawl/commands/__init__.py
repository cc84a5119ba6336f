"""Commands of `scrapy`, beside its own.

Scrapy imports them for its command line alone, before anything slow.
"""

from rdfcrawl.progress.stopping import tell_interrupts

tell_interrupts()
