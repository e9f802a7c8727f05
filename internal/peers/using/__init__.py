"""Tests that other programs make ppal's decisions from the files of a run: `make check-python`.

They need the packages of requirements.txt and the program bin/ppal. The tests on published data need PPAL_DATA."""
