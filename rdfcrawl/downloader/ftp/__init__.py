"""FTP and FTPS: the protocol (RFC 959 and its extensions), with responses like HTTP's.

`protocol` is that of `ftplib` with limits, `connection` the operations on one server,
`request` one file or directory; `directories` reads listings; `exchange` returns
responses like those of HTTP.
"""
