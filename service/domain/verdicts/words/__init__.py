"""A verdict in sentences, in English and Chinese."""
