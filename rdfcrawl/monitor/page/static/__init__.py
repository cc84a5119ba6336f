"""Static files of the page."""
