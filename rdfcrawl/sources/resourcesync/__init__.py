"""ResourceSync: what a source publishes about its resources and their changes.

A source describes itself by documents in the format of sitemaps: a source description
names capability lists, these name lists and dumps of resources and of changes. All
modules are pure: bytes go in; requests, changes and faults come out. `plan.follow`
reads one document; the other modules are its parts.

Source: ANSI/NISO Z39.99-2017, "ResourceSync Framework Specification" 1.1; clauses named
here are of this text.
"""
