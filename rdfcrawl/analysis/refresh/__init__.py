"""Policies that choose pages to fetch again, and share quotas of fetches.

A refresh policy chooses the pages of one host to fetch in an epoch; `domain_schedule`
shares the quota of a domain between sitemaps and links. All are pure functions of the
crawl's facts: the same facts give the same choice.
"""
