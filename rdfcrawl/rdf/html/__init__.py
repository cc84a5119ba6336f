"""Extract statements from annotated pages; an extractor is a function of one page.

All extractors share one parsed tree. A cheap scan of the bytes selects the extractors
to run; slow or recursive ones only run in a bounded process. A failure of one extractor
does not affect the others.
"""
