"""Numbers under everything: roots, random streams, moments, ranks, cluster sums, distributions."""
