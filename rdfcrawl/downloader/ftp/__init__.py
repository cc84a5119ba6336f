"""FTP and FTPS: the protocol (RFC 959 and its extensions), and requests as answers.

`protocol` is the dialogue of `ftplib` with bounds, `connection` what a crawl needs of a
server, `request` one file or directory; `exchange` gives answers like those of HTTP.
"""
