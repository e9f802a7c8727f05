"""Tests of the contenders on small problems. They need the packages: make check-python."""
