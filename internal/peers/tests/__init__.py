"""Tests of what needs no package but Python: python3 -m unittest discover -s internal/peers/tests -t internal."""
