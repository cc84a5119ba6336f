"""Files of others that the page serves as they are."""
