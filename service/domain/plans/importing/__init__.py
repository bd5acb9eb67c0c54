"""How files of a harness become results: what a plan says of it."""
