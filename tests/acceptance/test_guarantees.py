"""Every promise has a test, and every test that names a promise names one that was made."""

import ast
import os
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.acceptance.guarantees import PROMISES

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def claims() -> Iterator[tuple[str, str]]:
    """(promise, test) for every mark in every test file: read, not run, so that no selection hides one."""
    for where, _, names in os.walk(TESTS):
        for name in names:
            if name.startswith("test_") and name.endswith(".py"):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    yield from marks(ast.parse(file.read()), os.path.relpath(path, TESTS))


def marks(tree: ast.Module, path: str) -> Iterator[tuple[str, str]]:
    """The marks of a module: on functions and classes, for all of it, or put on by hand."""
    decorated = {
        id(decorator): f"{path}::{node.name}"
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for decorator in node.decorator_list
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "promise"
        ):
            assert len(node.args) == 1, f"{path}:{node.lineno} must name one promise"
            named = node.args[0]
            assert isinstance(named, ast.Constant), f"{path}:{node.lineno} must name its promise literally"
            yield str(named.value), decorated.get(id(node), f"{path}:{node.lineno}")


CLAIMS = list(claims())


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_has_a_test(promise: str):
    proofs = defaultdict(list)
    for named, test in CLAIMS:
        proofs[named].append(test)
    assert proofs[promise], f"nothing proves that: {PROMISES[promise]}"


def test_no_test_names_a_promise_that_nobody_made():
    assert [(promise, test) for promise, test in CLAIMS if promise not in PROMISES] == []


def test_a_promise_is_a_sentence_a_user_can_rely_on():
    for promise, sentence in PROMISES.items():
        assert promise == promise.lower().replace(" ", "-"), promise
        assert sentence[0].isupper() or sentence[0] == "`", promise
        assert sentence.endswith("."), promise
    assert len(set(PROMISES.values())) == len(PROMISES)


def test_a_proof_is_a_test():
    wrong = [
        test for _, test in CLAIMS if "::" in test and not test.split("::")[1].startswith(("test_", "Test"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("@pytest.mark.promise('x')\ndef test_a(): ...", [("x", "f.py::test_a")]),
        ("@pytest.mark.promise('x')\nclass TestA: ...", [("x", "f.py::TestA")]),
        ("pytestmark = pytest.mark.promise('x')", [("x", "f.py:1")]),
        ("TestA = pytest.mark.promise('x')(B)", [("x", "f.py:1")]),
        ("def test_a(): ...", []),
    ],
)
def test_marks_are_found_wherever_they_stand(source: str, found: list[tuple[str, str]]):
    assert list(marks(ast.parse(source), "f.py")) == found
