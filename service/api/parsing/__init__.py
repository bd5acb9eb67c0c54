"""From bytes to models: strict JSON, Markdown, and what is said of faults."""
