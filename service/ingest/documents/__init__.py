"""Files from anybody, read with bounded memory: archives, JSON of any size, YAML, columns, and the limits of all."""
