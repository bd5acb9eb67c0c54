"""Decision rules: their grammar, what they ask of tests, and when they hold."""
