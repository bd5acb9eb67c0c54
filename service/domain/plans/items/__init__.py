"""The items of populations: manifests, order, draws."""
