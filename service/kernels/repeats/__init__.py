"""Several runs of the same items: what k draws of n give, and how variance splits over items and runs."""
