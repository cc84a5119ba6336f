"""ResourceSync: publication of resources and their changes by a source.

A source describes itself by documents in the format of sitemaps: a source description
names capability lists, which name lists and dumps of resources and of changes. All
modules are pure: bytes go in; requests, changes and faults come out. `plan.follow`
reads one document; the other modules are its parts.

Source: ANSI/NISO Z39.99-2017, "ResourceSync Framework Specification" 1.1; clauses named
here are of this text.
"""
