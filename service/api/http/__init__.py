"""What every operation shares: requests, answers, limits, streams, serving; keys, problems, counters and reads."""
