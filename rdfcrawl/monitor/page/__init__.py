"""The live page of a crawl: progress, content, and explanations.

A process that reads Redis, logs and their index, and changes nothing without
`--control`. A module of `views` has `routes`, whose handlers read the frontier
(`CrawlAccess.read`) and the index (`CrawlAccess.listed`: rows by the names of their
columns), and pass values to `PageRenderer.respond`. It shows them by a template in
`templates`, or as JSON. `moment_feed` reads the state of the crawl once a second, for
all visitors; queries, reports and exports run in child processes.
"""
