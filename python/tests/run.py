#!/usr/bin/env python3
"""The tests of the Python package, in the interpreter that it is installed in: NumPy alone is needed.

    run.py [PATTERN]    test_PATTERN*.py; all of them, and the examples in docstrings, without one
"""
import doctest
import importlib
import pkgutil
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Their examples need packages that are not installed here (tests/oracle/python_torch_test.py runs them).
OTHERS = ("tangram._core", "tangram._torch_programs", "tangram.torch", "tangram.__main__")


def examples():
    import tangram

    suite = unittest.TestSuite([doctest.DocTestSuite(tangram, optionflags=doctest.ELLIPSIS)])
    for module in pkgutil.walk_packages(tangram.__path__, "tangram."):
        if not module.name.startswith(OTHERS):
            suite.addTest(doctest.DocTestSuite(importlib.import_module(module.name),
                                               optionflags=doctest.ELLIPSIS))
    return suite


def main():
    pattern = f"test_{sys.argv[1]}*.py" if len(sys.argv) > 1 else "test_*.py"
    suite = unittest.defaultTestLoader.discover(str(HERE), pattern=pattern)
    if len(sys.argv) == 1:
        suite.addTest(examples())
    return 0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
