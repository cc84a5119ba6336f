"""The arguments of spiders: their types, their texts, and what a crawl keeps of them.

`crawl` has the arguments and the sets of them that spiders take, `parsers` reads the
text of each, `own` those that users add. `seeds` reads files of URLs, and `stored`
compares the arguments of a command with those that a crawl was begun with.
"""
