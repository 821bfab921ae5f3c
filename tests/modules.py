"""Print every module of the package with the first line of its docstring: ``python tests/modules.py``."""

import ast
from pathlib import Path


def listed(folder, depth=0):
    """Modules below a folder with the first lines of their docstrings, files before folders."""
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        source = path / "__init__.py" if path.is_dir() else path
        if path.name.startswith("__") or source.suffix != ".py" or not source.exists():
            continue
        name = "  " * depth + path.stem + "/" * path.is_dir()
        yield name, ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))).splitlines()[0].rstrip(".")
        if path.is_dir():
            yield from listed(path, depth + 1)


if __name__ == "__main__":
    for name, purpose in listed(Path(__file__).parent.parent / "src" / "sparsest"):
        print(f"{name:<26}{purpose}")
