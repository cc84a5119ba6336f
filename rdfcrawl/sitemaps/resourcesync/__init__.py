"""ResourceSync: what a source publishes about its resources and their changes.

A source describes itself by documents in the format of sitemaps: a source description
names capability lists, these name lists and dumps of resources and of changes. All of
this room is pure: bytes go in, what to ask for next, what changed and what was wrong
come out. `plan.follow` reads one document and says all of it; the other modules are
the parts that it is made of.

Source: ANSI/NISO Z39.99-2017, "ResourceSync Framework Specification" 1.1; where a
clause is named in this room, it is of this text.
"""
