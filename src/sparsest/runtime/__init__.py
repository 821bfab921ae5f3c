"""What a computation needs around it: compiled kernels, clock and Ctrl-C, events, threads, progress, and files."""
