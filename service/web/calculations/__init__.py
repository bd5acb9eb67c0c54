"""Statistical tests and questions to files, each with a form and its answer."""
