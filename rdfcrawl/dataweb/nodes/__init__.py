"""The kinds of node: the data, responses and truth of each.

A node is pure: a request goes in, a response comes out. It opens no connection; only
the FTP server speaks for itself. Those of the extended profile may be changed while
they are served (`site.Site`).
"""
