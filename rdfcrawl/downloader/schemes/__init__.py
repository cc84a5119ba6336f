"""Schemes: which exchange a URL is asked through, and fetchers of the user's.

`routing` tells the schemes apart. `protocol` is what a fetcher is to the crawl,
`options` reads `FETCH_SCHEMES`, and `exchange` asks fetchers within the limits of a
visit. `docs/how-to/own-fetchers.md` shows how to write one.
"""
