"""Plants faults one at a time and asks which tests notice: `./do mutants`."""
