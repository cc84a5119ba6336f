"""Custom fetchers, selected by the scheme of a URL.

`exchange` dispatches requests by scheme, and calls custom fetchers within the limits of
a visit. `scheme_fetcher` defines their interface, `fetcher_classes` reads
`FETCH_SCHEMES`. `docs/how-to/own-fetchers.md` shows how to write one.
"""
