"""What tests are given: pairs, samples, arms, clusters, orders, ranges of scores."""
