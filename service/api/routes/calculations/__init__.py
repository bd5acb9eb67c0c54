"""Statistical tests, comparisons, and the jobs that compute the long ones."""
