"""Spider arguments: types, texts, and the values that a crawl keeps.

`crawl` declares the arguments and groups them per spider, `parsers` reads their texts,
`own` handles arguments that users add. `seeds` reads files of URLs, and `stored`
compares the arguments of a command with those of the running crawl.
"""
