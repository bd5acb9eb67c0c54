"""Forelock's tools for agents, over the Model Context Protocol (extra `mcp`)."""
