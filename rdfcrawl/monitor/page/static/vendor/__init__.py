"""Static files of third parties."""
