"""Processes beside the API's that read large bodies and compute."""
