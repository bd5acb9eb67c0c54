"""Power and level of rules about one arm, and what such a rule can reach at all."""
