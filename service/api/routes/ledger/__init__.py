"""The log, its proofs and its exports."""
