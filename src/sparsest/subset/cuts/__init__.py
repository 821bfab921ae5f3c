"""The method "cuts": outer approximation by cutting planes."""
