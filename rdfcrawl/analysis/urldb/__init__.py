"""The URL database: the data of a crawl about each URI, from its logs.

`scan` reads the logs into `observations`, which `record` joins to the record of each
URI; `building` merges new ones into the `files`, sorted and partitioned by host, and
`database` reads these. `facts` turns records into the input of measures, `mirrors`
finds the same content on several sites, `rank_building` ranks the URIs, and `columns`
writes them as Parquet.
"""
