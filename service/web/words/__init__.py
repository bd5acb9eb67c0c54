"""The words of the pages in both languages."""
