"""Result files of evaluation harnesses, read with bounded memory into samples of one shape."""
