"""The level of a rule: its greatest chance to hold where its claim is false."""
