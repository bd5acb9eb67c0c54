"""What a test says of itself: fields, costs, use in plans, what it shows, warnings, sentences."""
