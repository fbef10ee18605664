"""The spacecraft: its parameters, its flight software and Basilisk underneath."""
