"""The settings: defaults, checks, and settings of Scrapy without effect.

`defaults` has the values, `values` checks numbers, switches and classes, `merging` adds
the defaults to the settings of a project, `conflicts` refuses or reports settings that
visits cannot support. `spider` has all settings of a spider, each part from the
`options.py` of its room.
"""
