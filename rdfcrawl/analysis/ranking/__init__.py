"""Scores that rank the URLs of a site: PageRank, and scores from sitemaps.

Pure functions over streams of links. Section numbers refer to U. Schonfeld and N.
Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty" (WWW 2009).
"""
