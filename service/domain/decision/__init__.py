"""What a plan's locked rules decide, on any number of data sets at once: a verdict is one, power some thousands."""
