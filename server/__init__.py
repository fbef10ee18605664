"""The environment and its HTTP face."""
