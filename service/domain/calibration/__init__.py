"""How often a plan passes when nothing can tell the arms apart."""
