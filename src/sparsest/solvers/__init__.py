"""Solvers: each turns a problem into a result or a part of one."""
