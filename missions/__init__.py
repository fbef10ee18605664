"""What to achieve: missions as pure functions of family, level and seed."""
