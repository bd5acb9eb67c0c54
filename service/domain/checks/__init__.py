"""What a plan's own words get wrong, told part by part: lint prints it, power and levels begin with it."""
