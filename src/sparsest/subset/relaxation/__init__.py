"""The Boolean relaxation, solved on working sets with a certified bound."""
