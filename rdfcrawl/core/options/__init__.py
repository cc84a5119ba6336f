"""The settings: declarations, defaults, checks, and settings of Scrapy without effect.

`table` declares settings as fields of dataclasses, and reads them; each room has its
own in modules named `options`. `defaults` has the values where nothing is set, `values`
parses numbers, switches and classes, and `scrapy_settings` adds the defaults to the
settings of a project, and refuses or reports settings that visits cannot support.
"""
