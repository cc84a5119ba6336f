"""The web as it changes in time: a clock, histories of pages, sitemaps, the truth.

The state of a site is a pure function of its parameters and of the time, in seconds
since the web began: nothing is kept, and every process gives the same answer. Changes
of a page are a Poisson process (Cho and Garcia-Molina, "The Evolution of the Web and
Implications for an Incremental Crawler", VLDB 2000).
"""
