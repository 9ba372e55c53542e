#!/usr/bin/env python3
"""Proves that the golden runner can fail, with a fake `tg` and tests that must pass or fail."""
import subprocess
import sys
import tempfile
from pathlib import Path

FAKE = """#!/bin/sh
case "$1" in
  devices) echo '{"devices": [{"backend": "ref"}]}' ;;
  say) shift; echo "$@" ;;
  fail) echo oops >&2; exit "${2:-1}" ;;
  crash) kill -SEGV $$ ;;
esac
"""

# (kind, text of the test, expected output or None, whether it must pass)
CASES = {
    "same": ("cli", "# run: tg say hello\n", "hello\n", True),
    "differs": ("cli", "# run: tg say hello\n", "bye\n", False),
    "two_commands": ("cli", "# run: tg say a\n# run: tg say b\n", "a\nb\n", True),
    "no_expectation": ("cli", "# run: tg say a\n", None, False),
    "no_run_line": ("cli", "model m() {}\n", "", False),
    "not_tg": ("cli", "# run: rm -r %t\n", "", False),
    "must_not_fail": ("cli", "# run: tg fail\n", "oops\n", False),
    "must_fail": ("error", "# run: tg say a\n", "a\n", False),
    "fails_as_it_must": ("error", "# run: tg fail\n", "oops\n", True),
    "exit_as_said": ("error", "# run: tg fail 3\n# exit: 3\n", "oops\n", True),
    "exit_differs": ("error", "# run: tg fail 2\n# exit: 3\n", "oops\n", False),
    "early_failure": ("error", "# run: tg fail\n# run: tg fail\n", "oops\noops\n", False),
    "early_failure_as_said": ("error", "# run: ! tg fail\n# run: tg fail\n", "oops\noops\n", True),
    "early_success": ("error", "# run: ! tg say a\n# run: tg fail\n", "a\noops\n", False),
    "early_crash": ("error", "# run: ! tg crash\n# run: tg fail\n", "oops\n", False),
    "crash_is_no_error": ("error", "# run: tg crash\n", "", False),
    "skipped": ("cli", "# run: tg fail\n# needs: gpu\n", "", True),
}


def main():
    runner = Path(__file__).resolve().parent / "run.py"
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        tests = Path(scratch, "tests")
        tests.mkdir()
        (tests / "run.py").write_text(runner.read_text(encoding="utf-8"), encoding="utf-8")
        tg = Path(scratch, "tg")
        tg.write_text(FAKE)
        tg.chmod(0o755)
        for name, (kind, text, expected, passes) in CASES.items():
            file = tests / "golden" / kind / f"{name}.tg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if expected is not None:
                file.with_suffix(".out").write_text(expected)
            done = subprocess.run([sys.executable, tests / "run.py", "--tg", tg, file],
                                  capture_output=True, check=False)
            if (done.returncode == 0) != passes:
                wrong += 1
                print(f"{name}: expected {'a pass' if passes else 'a failure'}\n{done.stdout.decode()}")
    print(f"run_test: {len(CASES) - wrong} of {len(CASES)} as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
