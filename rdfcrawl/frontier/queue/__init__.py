"""The queue in Redis: candidates, hosts, partitions, profiles, epochs, reports."""
