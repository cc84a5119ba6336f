"""Scores by which URLs of a site are ranked: PageRank, and those of sitemaps.

Pure functions over streams of links; numbers of sections are those of U. Schonfeld and
N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty" (WWW 2009).
"""
