"""Who looks at a page: signing in with a key, and the session of a browser."""
