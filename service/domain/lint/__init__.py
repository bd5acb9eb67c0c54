"""All findings of a plan before it is locked: the checks, and those that take policies, power or levels to tell."""
