"""Plans, rules, results and verdicts as records and pure functions."""
