"""Documents that are equal, or nearly so, under several URLs or at several times.

`clusters` finds which ones are, and `canonical` chooses the URL that represents them.
"""
