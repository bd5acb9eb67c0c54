"""Effects, agreement, rankings and repeated runs."""
