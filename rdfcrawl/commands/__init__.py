"""Commands of `scrapy` and of `rdfcrawl`.

`scrapy` finds them where rdfcrawl is installed (entry points `scrapy.commands`), and in
a clone by `COMMANDS_MODULE`. It imports them for its command line alone, before
anything slow. Those that stand in for commands of Scrapy do what Scrapy's do in
projects without spiders of ours.
"""
