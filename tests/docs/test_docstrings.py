"""Every public name has an example in its docstring, and the examples run, those of methods too."""

import doctest
import inspect
import re
from enum import EnumType

import pytest
from matplotlib import pyplot

import sparsest
from docs.pages import Silent
from sparsest.selection.certified import ChoiceVerdict
from sparsest.subset.tree.importance import Importance
from sparsest.subset.tree.near_optimal import NearOptimal

# Classes in the reference whose instances only functions and methods make.
RETURNED = (NearOptimal, Importance, ChoiceVerdict)


def public_names():
    """Names and objects of the package, of its public modules, and of what they return."""
    for name in sparsest.__all__:
        found = getattr(sparsest, name)
        if inspect.ismodule(found):
            yield from ((f"{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        else:
            yield name, found
    yield from ((found.__name__, found) for found in RETURNED)


def methods_with_examples():
    """Methods of public classes whose docstrings have examples."""
    for name, found in public_names():
        if inspect.isclass(found):
            for method, inner in inspect.getmembers(found, inspect.isroutine):
                if not method.startswith("_") and ">>>" in (inner.__doc__ or ""):
                    yield f"{name}.{method}", inner


EXAMPLES = dict([*public_names(), *methods_with_examples()])


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path, monkeypatch):
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(EXAMPLES[name]), {}, name, name, 0)
    assert test.examples, f"{name} has no example"
    runner = Silent()
    runner.run(test, out=lambda _: None)
    pyplot.close("all")
    assert not runner.found, "\n\n".join(runner.found)


def test_every_public_name_is_in_the_reference():
    from docs.pages import ROOT

    listed = (ROOT / "docs" / "source" / "api" / "index.md").read_text(encoding="utf-8").split()
    assert {name.rpartition(".")[2] for name, _ in public_names()} <= {name.rpartition(".")[2] for name in listed}


def described(documentation):
    """Names at the beginning of the lines of a docstring that describe something: ``a, b : what they are``."""
    lines = re.findall(r"^ *([*\w, ]+?) :", documentation, re.MULTILINE)
    return {name.strip(" *") for line in lines for name in line.split(",")}


# Enumerations are called by nobody but Python.
DESCRIBED = [name for name, found in public_names() if callable(found) and not isinstance(found, EnumType)]


@pytest.mark.parametrize("name", DESCRIBED)
def test_parameters_and_returns(name):
    found = dict(public_names())[name]
    documentation, signature = inspect.getdoc(found), inspect.signature(found)
    missing = set(signature.parameters) - described(documentation)
    assert not missing, f"{name} does not describe {sorted(missing)}"
    if inspect.isfunction(found) and signature.return_annotation not in (None, "None"):
        assert "Returns\n" in documentation, f"{name} does not say what it returns"
