"""The templates of the page, for Jinja."""
