"""Files that the page serves as they are."""
