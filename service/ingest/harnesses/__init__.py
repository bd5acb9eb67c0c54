"""Evaluation harnesses: what each declares, and the reader of its files into samples of one shape."""
