"""Annotated pages to statements: each extractor is a pure function over one `Page`.

A page is parsed once for all extractors of our own. A cheap scan of its bytes says
which extractors have something to find; those that are slow or recurse run only in a
bounded process; and one that fails takes nothing from the others.
"""
