"""Bundles: a record and everything that shows it to be what it says, as one file; read here, and checked offline."""
