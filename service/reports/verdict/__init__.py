"""The report of a verdict: its content once, printed as Markdown, HTML, LaTeX, PDF and JSON."""
