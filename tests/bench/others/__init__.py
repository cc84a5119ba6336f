"""Other programs that read RDF dumps, for comparison where they are installed."""
