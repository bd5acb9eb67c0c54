"""Methods that two or more families use."""
