"""Builds what a release is made of, and tries it: `./do release`."""
