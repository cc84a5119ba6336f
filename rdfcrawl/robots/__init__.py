"""robots.txt: what a site asks of robots, and a cache of it per origin.

`policy` is pure and says what an answer for `/robots.txt` means (RFC 9309); `cache`
fetches it once per origin and day, and takes out of a visit what is not to be asked
for before the first request of it is made.
"""
