"""What the methods of users' own spiders are called with, and what they yield."""
