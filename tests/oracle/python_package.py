"""Common parts of the tests of the Python package with PyTorch. Importing this module skips the test (exit code 77) if
PyTorch or the package is not installed."""
import argparse
import importlib
import sys
import unittest


def required(name):
    """Returns the module of this name. If it is missing, the test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        print(f"[SKIP] {missing.name} is not installed")
        sys.exit(77)


torch, tangram = required("torch"), required("tangram")
required("tangram.torch")

#: Options of a short search: the tests check that results are right, not fast.
SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 1, "iterations": 2}


def run_tests(words=None):
    """Runs the test cases of the main module. Operands of the command line are appended to `words`, if it is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # every oracle test gets this option; these use the package
    if words is not None:
        parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    if words is not None:
        words += given.words
    unittest.main(argv=[sys.argv[0]], verbosity=1)
