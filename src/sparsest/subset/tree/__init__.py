"""The method "tree": branch and bound with a proof of everything it closes; and all supports near the optimum."""
