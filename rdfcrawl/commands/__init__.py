"""Commands of `scrapy` and of `rdfcrawl`.

`scrapy` finds them where rdfcrawl is installed (entry points `scrapy.commands`), and in
a clone by `COMMANDS_MODULE`. It imports them for its command line alone, before
anything slow. Commands that replace those of Scrapy do the same in projects without
spiders of ours.
"""
