"""Paths of Lasso, elastic-net, MCP and SCAD fits."""
