"""Transparency logs offline: Merkle proofs, signed notes, checkpoints, proof files (RFC 9162 and C2SP)."""
