"""Call the methods of users' own spiders, and process their output."""
