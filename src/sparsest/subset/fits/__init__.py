"""The best model on given features, for every loss, ridge and box."""
