"""Two arms on the same items without a plan: better, no worse, worse, or not to be told."""
