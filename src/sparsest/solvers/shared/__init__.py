"""What solvers share: clock and events, support values, swap search, certificates, linear algebra, threads."""
