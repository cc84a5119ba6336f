"""Templates of files that commands write."""
