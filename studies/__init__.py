"""Studies: what is measured, shown and frozen by flying the environment; imported by nothing."""
