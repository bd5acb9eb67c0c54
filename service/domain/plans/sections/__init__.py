"""What a plan says, section by section."""
