"""A worker's side of the frontier: claims, leases, commits, links, epochs."""
