"""Start crawls and workers, and write their messages.

`crawls` checks and runs a crawl in this process; `worker_pool` runs it in several, as
children of `forks`. `private_crawls` runs a crawl of a command: `looking`,
`verifying` and `fetched_query` use it. `progress` shows a running crawl, and
`crawl_summary` one that has ended.
"""
