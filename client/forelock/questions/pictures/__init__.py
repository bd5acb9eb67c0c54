"""Pictures of answers: intervals, ranks and shares, in the characters of a terminal and as SVG."""
