"""Chooses the tests of a change by what runs the changed code, and runs the nearest of them: `./do quick`."""
