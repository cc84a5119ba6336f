"""Call the callbacks of users' spiders, and process their output."""
