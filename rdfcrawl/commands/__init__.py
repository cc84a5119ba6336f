"""Commands of `scrapy` and of `rdfcrawl`.

`scrapy` finds them in a project that sets `COMMANDS_MODULE`, as our own does. It
imports all of them before it runs one, so no command imports anything slow at its top.
Commands that replace Scrapy's run other spiders as Scrapy does.
"""
