"""Keys that the service itself holds: the keyring, and where the log's signer stands."""
