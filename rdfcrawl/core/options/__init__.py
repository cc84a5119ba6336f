"""The settings: declarations, defaults, checks, and settings of Scrapy without effect.

`table` declares settings as fields of dataclasses, and reads them; each room has its
own in its `options.py`. `defaults` has the values where nothing is set, `values` parses
numbers, switches and classes, `merging` adds the defaults to the settings of a project,
`conflicts` refuses or reports settings that visits cannot support.
"""
