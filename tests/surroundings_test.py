#!/usr/bin/env python3
"""Tests every command of `tg` in unusual environments: closed or full standard streams, a small address space, a small
stack, and pipes, devices and folders in place of its caches. Each ends soon with a documented exit code, and not by a
signal. Lost output is an error with a message. The commands are those of `tg --help`.

    surroundings_test.py TG
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from limits_test import listed_commands

TG = ""
HANG_S = 120  # generous for a busy machine: each command takes about a second
CODES = (0, 1, 2, 3, 4)  # 70 is an internal error
MODEL = "model m(x: f32[2, 4]) -> f32[2, 4] {\n  param w: f32[4, 4]\n  relu(relu(x @ w))\n}\n"
RULE = "rule twice(x) { relu(relu(x)) => relu(x) }\n"
EGRAPH = {"nodes": {"0.0": {"op": "f", "eclass": "0", "children": [], "cost": 1}}, "root_eclasses": ["0"]}
SANITIZED = "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ


def commands_of(folder):
    """Returns quick command lines for each command; a command that writes a file writes to standard output."""
    model, rule, egraph = folder / "m.tg", folder / "r.tg", folder / "e.json"
    database = ["--cost-db", folder / "prices.db"]
    return {
        "check": [["check", model], ["check", model, "--json"]],
        "fmt": [["fmt", "--check", model], ["fmt", "-"]],
        "opt": [["opt", model, "--cost", "analytic:cpu", "-o", "-"], ["opt", model, "--cost", "analytic:cpu", "--json"]],
        "explain": [["explain", model, "--cost", "analytic:cpu"]],
        "run": [["run", model, "--runs", "1"], ["run", model, "--backend", "ref", "--runs", "1"]],
        "export": [["export", model, "-o", folder / "out.onnx"]],
        "import": [["import", folder / "given.onnx", "-o", "-"]],
        "weights": [["weights", model]],
        "verify": [["verify", model, model]],
        "extract": [["extract", egraph], ["extract", egraph, "--json"]],
        "rules list": [["rules", "list", rule]],
        "rules verify": [["rules", "verify", rule]],
        "report": [["report", folder / "trace.json", "-o", "-"]],
        "repl": [["repl"]],
        "bench demo": [["bench", "demo", model, "--time-limit", "1", *database]],
        "calibrate": [["calibrate", "--time-limit", "0.1", *database]],
        "train": [["train", model, "--by-prices", "--cost", "analytic:cpu", "--episodes", "1", "-o", folder / "p.safetensors"]],
        "table": [["table", "no_such_network", "--output", folder / "cells.json"]],
        "tune": [["tune", model, "--time-limit", "0.1", *database]],
        "devices": [["devices"]],
        "options": [["options"]],
        "ops": [["ops"]],
        "errors": [["errors"]],
        "help": [["help", "E0213"], ["--help"], ["opt", "--help"], ["--version"], ["--completion", "bash"]],
    }


def limits(**of):
    """Returns a function that sets resource limits in the child process."""
    def apply():
        for name, value in of.items():
            resource.setrlimit(getattr(resource, name), (value, value))
    return apply


class Surroundings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        for name, text in (("m.tg", MODEL), ("r.tg", RULE), ("e.json", json.dumps(EGRAPH))):
            (cls.folder / name).write_text(text)
        for line in (["export", "m.tg", "-o", "given.onnx"],
                     ["opt", "m.tg", "--cost", "analytic:cpu", "--trace", "trace.json"]):
            subprocess.run([TG, *line], cwd=cls.folder, check=True, capture_output=True)
        cls.commands = commands_of(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def every_line(self):
        return [[str(word) for word in line] for lines in self.commands.values() for line in lines]

    def run_tg(self, line, redirection="", before=None, cache=None):
        """Runs `tg` from a shell, which can close streams that Python cannot."""
        environment = {**os.environ, "TG_THREADS": "1", "XDG_CACHE_HOME": str(cache or self.folder / "cache")}
        ran = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', TG, *line], cwd=self.folder, env=environment,
                             input=MODEL.encode(), capture_output=True, timeout=HANG_S, preexec_fn=before)
        self.assertIn(ran.returncode, CODES, f"{line} {redirection}: {ran.stderr.decode()[-2000:]}")
        return ran

    def test_every_command_is_here(self):
        self.assertEqual(set(self.commands), set(listed_commands(TG)))

    def test_output_that_is_lost_is_an_error(self):
        for line in self.every_line():
            usual = self.run_tg(line)
            for redirection in (">/dev/full", ">&-"):
                ran = self.run_tg(line, redirection)
                if not usual.stdout:
                    continue
                self.assertNotEqual(ran.returncode, 0, f"{line} {redirection}")
                if usual.returncode == 0:
                    self.assertIn(b"cannot write standard output", ran.stderr, f"{line} {redirection}")

    def test_closed_and_full_streams_are_not_internal_faults(self):
        for line in self.every_line():
            for redirection in ("2>/dev/full", "2>&-", "<&-", "<&- >&- 2>&-"):
                self.run_tg(line, redirection)

    @unittest.skipIf(SANITIZED, "a sanitizer's own memory is far beyond these limits")
    def test_a_small_address_space_ends_with_a_message(self):
        # These create hundreds of oneDNN kernels, and oneDNN sometimes crashes when it runs out of memory.
        makes_kernels = ("calibrate", "tune", "bench")
        for line in self.every_line():
            if line[0] in makes_kernels:
                continue
            for megabytes in (120, 160, 200, 300, 500):
                ran = self.run_tg(line, before=limits(RLIMIT_AS=megabytes << 20))
                if ran.returncode == 3:
                    self.assertTrue(ran.stderr.strip(), f"{line} in {megabytes} MiB")

    def test_a_small_stack_is_enough(self):
        for line in self.every_line():
            small = self.run_tg(line, before=limits(RLIMIT_STACK=64 << 10))
            self.assertEqual(small.returncode, self.run_tg(line).returncode, f"{line}: {small.stderr.decode()}")

    def test_few_descriptors_end_with_a_message(self):
        for line in self.every_line():
            for descriptors in (4, 6, 9):
                ran = self.run_tg(line, before=limits(RLIMIT_NOFILE=descriptors))
                if ran.returncode != 0:
                    self.assertTrue((ran.stderr + ran.stdout).strip(), f"{line} with {descriptors} descriptors")

    def test_a_folder_that_is_gone_and_an_empty_environment(self):
        for line in self.every_line():
            usual = self.run_tg(line).returncode
            with tempfile.TemporaryDirectory() as gone:
                for before in (f"cd {gone} && rmdir {gone} && exec ", "exec env -i "):
                    ran = subprocess.run(["sh", "-c", f'{before} "$0" "$@"', TG, *line], cwd=self.folder,
                                         input=MODEL.encode(), capture_output=True, timeout=HANG_S)
                    self.assertEqual(ran.returncode, usual, f"{line} after {before}: {ran.stderr.decode()[-1000:]}")
                    os.makedirs(gone, exist_ok=True)

    def test_other_files_at_the_path_of_a_cache_are_left_alone(self):
        makers = {"a pipe": os.mkfifo, "a folder": os.mkdir, "a device": lambda path: os.symlink("/dev/zero", path),
                  "a circle": lambda path: os.symlink(path, path)}
        lines = [line for name in ("opt", "run", "rules verify", "explain") for line in self.commands[name]]
        lines += [["opt", "m.tg"], ["run", "m.tg", "--opt", "--runs", "1"], ["opt", "m.tg", "--rules", "r.tg"]]
        for what, make in makers.items():
            for name in ("rules.verified", "costs.db", "costs.db.lock", "kernels"):
                with tempfile.TemporaryDirectory() as cache, self.subTest(f"{what} as {name}"):
                    place = Path(cache) / "tangram"
                    place.mkdir()
                    make(place / name)
                    before = os.lstat(place / name)
                    for line in lines:
                        ran = self.run_tg([str(word) for word in line], cache=cache)
                        self.assertEqual(ran.returncode, 0, ran.stderr.decode()[-2000:])
                    self.assertEqual(os.lstat(place / name).st_ino, before.st_ino)


if __name__ == "__main__":
    TG = os.path.abspath(sys.argv.pop(1))
    unittest.main()
