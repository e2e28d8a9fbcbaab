"""Helpers for tests: random programs. Needs the `[test]` extra (hypothesis)."""
