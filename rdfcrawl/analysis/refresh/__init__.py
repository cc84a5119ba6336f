"""When to look at pages again, and at which first: policies of refresh and of crawl.

A refresh policy chooses, of the pages of one host, those to fetch in an epoch;
`domain_schedule` shares the quota of a domain between sitemaps and links. All are pure
functions of what the crawl knows: the same facts give the same choice.
"""
