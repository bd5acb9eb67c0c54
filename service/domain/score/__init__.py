"""One arm's score without a plan: how sure it is, and whether it is enough."""
