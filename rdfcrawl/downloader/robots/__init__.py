"""robots.txt: its rules, and a cache of them per origin.

`policy` is pure and says what an answer for `/robots.txt` means (RFC 9309); `parser`
reads its records, and `paths` says which rule matches a URL best. `cache` fetches it
once per origin and day, takes out of a visit what is not to be asked for before the
first request of it is made, and judges where its redirects lead.
"""
