"""What a problem is: data, losses, penalties, design matrices, ridge, sparsity, and the checks of arguments."""
