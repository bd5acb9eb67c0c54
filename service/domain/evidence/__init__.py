"""The five pieces of evidence of a comparison, scored."""
