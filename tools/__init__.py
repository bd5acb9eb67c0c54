"""Programs for whoever works on the service; they are not shipped with it."""
