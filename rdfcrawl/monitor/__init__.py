"""Watch and operate a crawl: live page, metrics, explanations, frontier operations.

`operating` reads and changes the frontier in Redis. `explaining` finds one URI in the
frontier and in the logs. `page` shows both and the index of the logs to browsers,
`metrics` to Prometheus. `refreshing` queues pages that are due, `pings` sitemaps that
have changed.
"""
