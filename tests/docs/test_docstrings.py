"""Every public name has an example in its docstring, and the examples run."""

import doctest
import inspect
import re
from enum import EnumType

import pytest
from matplotlib import pyplot

import sparsest
from docs.pages import Silent


def public_names():
    """Names and objects of the package and of its public modules."""
    for name in sparsest.__all__:
        found = getattr(sparsest, name)
        if inspect.ismodule(found):
            yield from ((f"{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        else:
            yield name, found


@pytest.mark.parametrize("name", [name for name, _ in public_names()])
def test_example(name, tmp_path, monkeypatch):
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(dict(public_names())[name]), {}, name, name, 0)
    assert test.examples, f"{name} has no example"
    runner = Silent()
    runner.run(test, out=lambda _: None)
    pyplot.close("all")
    assert not runner.found, "\n\n".join(runner.found)


def test_every_public_name_is_in_the_reference():
    from docs.pages import ROOT

    listed = (ROOT / "docs" / "source" / "api" / "index.md").read_text(encoding="utf-8").split()
    assert {name.rpartition(".")[2] for name, _ in public_names()} <= set(listed)


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
