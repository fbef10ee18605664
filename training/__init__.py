"""Rollouts and training over the wire: what the notebook calls."""
