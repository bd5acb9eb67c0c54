"""The service about itself: limits, health, documents."""
