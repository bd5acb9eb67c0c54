"""What is read of a request: its headers, its body or file, a page of a list, and whether it was sent before."""
