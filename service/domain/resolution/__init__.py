"""What data of a size and shape can resolve: smallest effects, least p-values, and published pairs without rows."""
