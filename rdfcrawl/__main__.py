"""`python -m rdfcrawl`: the command `rdfcrawl`."""

from rdfcrawl.cli import main

if __name__ == "__main__":
    main()
