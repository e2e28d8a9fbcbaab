"""Layer 9: frontends. Each reads one format into an IRModule of Relax functions."""
