"""Sign flips and permutations: exact p-values, joint tests, intervals by inversion."""
