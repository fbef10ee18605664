"""Which missions to train on."""
