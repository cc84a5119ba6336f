"""`python -m rdfcrawl`: the command `rdfcrawl`."""

from rdfcrawl.launch.cli import main

if __name__ == "__main__":
    main()
