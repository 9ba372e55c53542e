"""The common opening and end of tests of the Python package with PyTorch. Importing this module skips the test (exit
code 77) where PyTorch or the package is not installed."""
import argparse
import importlib
import sys
import unittest


def required(name):
    """The module of this name. Without it the test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        print(f"[SKIP] {missing.name} is not installed")
        sys.exit(77)


torch, tangram = required("torch"), required("tangram")
required("tangram.torch")

#: Options of a short search: the tests ask for right results, not for fast ones.
SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 1, "iterations": 2}


def run_tests(words=None):
    """Runs the test cases of the main module. Words of the command line, where a list is given, are added to it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # of all tests here; these use the package
    if words is not None:
        parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    if words is not None:
        words += given.words
    unittest.main(argv=[sys.argv[0]], verbosity=1)
