"""``python -m sparsest`` is the command ``sparsest``."""

from sparsest.cli import app

if __name__ == "__main__":
    app(prog_name="sparsest")
