"""What a rule can show before there are data: least p, attainability, power, and its level."""
