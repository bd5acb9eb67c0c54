"""Entries of the log, its tree, signers, checkpoints and time stamps."""
