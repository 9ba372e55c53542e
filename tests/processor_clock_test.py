#!/usr/bin/env python3
"""Tests bench/processor_clock.c: its clock does not advance while a process waits, but while it works, and by the work
of child processes that were waited for. The scheduler's statistics cannot be opened.

    processor_clock_test.py
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Works for {0} seconds of the clock under test.
WORK = "import time\nend = time.monotonic() + {0}\nwhile time.monotonic() < end: pass\n"


class ProcessorClock(unittest.TestCase):
    def told(self, program):
        """Runs a program under the clock and returns the elapsed seconds."""
        with tempfile.TemporaryDirectory(prefix="tg-clock-") as folder:
            library = Path(folder, "clock.so")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library,
                            ROOT / "bench/processor_clock.c", "-ldl"], check=True)
            done = subprocess.run([sys.executable, "-c", "import os, time\nstart = time.monotonic()\n" + program +
                                   "print(time.monotonic() - start)"],
                                  env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True,
                                  check=True)
        return float(done.stdout)

    def test_waiting_takes_no_time(self):
        self.assertLess(self.told("time.sleep(2)\n"), 1)

    def test_the_waiting_time_is_hidden(self):
        self.told("try: os.open(f'/proc/self/task/{os.getpid()}/schedstat', os.O_RDONLY)\n"
                  "except FileNotFoundError: pass\nelse: raise SystemExit('told')\n"
                  "os.close(os.open('/proc/self/stat', os.O_RDONLY))\n")

    def test_work_takes_time(self):
        self.assertGreaterEqual(self.told(WORK.format(0.2)), 0.2)

    def test_a_child_counts_once_it_was_waited_for(self):
        program = f"child = os.fork()\nif child == 0:\n    exec({WORK.format(0.2)!r})\n    os._exit(0)\n"
        self.assertLess(self.told(program + "time.sleep(0.1)\n"), 0.2)
        self.assertGreaterEqual(self.told(program + "os.waitpid(child, 0)\n"), 0.2)


if __name__ == "__main__":
    unittest.main()
