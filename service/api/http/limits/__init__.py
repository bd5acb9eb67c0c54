"""How much one process holds, and how much of it one caller may ask for."""
