"""How well it went."""
