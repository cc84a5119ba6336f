"""robots.txt: its rules, and a cache of them per origin.

`policy` interprets a response for `/robots.txt` (RFC 9309); `parser` reads its records,
and finds the best matching rule for a URL. `cache` fetches it once per origin and day,
removes disallowed records from a visit before its first request, and checks redirects;
`storage` keeps rules in memory and for other workers. `tdm` does the same for files on
text and data mining.
"""
