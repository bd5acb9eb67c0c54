"""Pages of the service for people with a browser; programs ask `service.api`."""
