"""Spider arguments: types, texts, and the values that a crawl keeps.

`crawl` declares the arguments, and groups them per spider with those that users add.
`parsers` reads their texts, and `seeds` reads files of URLs.
"""
