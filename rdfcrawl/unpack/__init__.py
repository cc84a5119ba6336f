"""Compressed files and archives as streams of documents, within limits.

What is packed in one another is unpacked to a depth limit. A limit that is passed, a
stream that is broken or a member that is encrypted is a named fault; what was read
before is kept, and what can still be read after it is.
"""
