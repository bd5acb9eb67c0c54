"""Processes of one machine: the parent that starts them, their nudges, counts, memory and complaints."""
