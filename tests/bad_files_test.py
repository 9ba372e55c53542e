#!/usr/bin/env python3
"""Tests unusual and damaged files: devices, folders, pipes, circular links, archives that unpack to gigabytes,
names with terminal escapes, full disks, foreign locks and invalid prices. Each command reports an error in one line,
soon and in little memory, and leaves no files behind.

    bad_files_test.py TG
"""
import fcntl
import json
import os
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

TG = ""
HANG_S = 120  # generous for a busy machine: each test takes about a second
MODEL = "model m(x: f32[2, 4]) { relu(x) }\n"


def limits(**of):
    """Returns a function that sets resource limits in the child process."""
    def apply():
        for name, value in of.items():
            resource.setrlimit(getattr(resource, name), (value, value))
    return apply


def tg(*args, env=None, before=None, data=None):
    return subprocess.run([TG, *map(str, args)], capture_output=True, timeout=HANG_S, input=data,
                          env={**os.environ, "TG_THREADS": "1", **(env or {})}, preexec_fn=before)


class Files(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.model = self.put("m.tg", MODEL)

    def tearDown(self):
        self.scratch.cleanup()

    def put(self, name, text):
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def fails(self, says, *args, **more):
        """Expects an ordinary error: exit code 1 or 2, and one of `says` in the message. Returns the output."""
        ran = tg(*args, **more)
        text = (ran.stdout + ran.stderr).decode(errors="replace")
        self.assertIn(ran.returncode, (1, 2), f"{args}: {ran.returncode}\n{text[-2000:]}")
        self.assertIn("error[E", text, args)
        self.assertTrue(any(word in text for word in says), f"{args}:\n{text[-2000:]}")
        return text

    def every_reader(self, path):
        """Returns a command for each kind of input file, with `path` as that file."""
        return [("check", path), ("fmt", "--check", path), ("opt", path), ("run", path),
                ("opt", self.model, "--cost", f"file:{path}"),
                ("opt", self.model, "--rules", path),
                ("opt", self.model, "--priors", path),
                ("run", self.model, "--backend", "ref", "--input", f"x={path}"),
                ("run", self.model, "--backend", "ref", "--weights", path),
                ("weights", self.model, path), ("report", path, "-o", self.folder / "r.html"),
                ("extract", path), ("verify", self.model, path)]


#: For each kind of file: its first bytes, the name in messages, and its usual extension.
NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }" + b" " * 57 + b"\n" + bytes(32)
KINDS = {
    "text": (MODEL.encode(), "text", ".tg"),
    "rules": (b"rule once(x) { relu(relu(x)) => relu(x) }\n", "text", ".tg"),
    "json": (b'{"a": 1}\n', "JSON", ".json"),
    "onnx": (b"\x08\x08\x12\x03abc\x3a\x10" + bytes(9), "ONNX", ".onnx"),
    "safetensors": (struct.pack("<Q", 2) + b'{"', "Safetensors", ".safetensors"),
    "npy": (NPY, "NumPy array", ".npy"),
    "npz": (b"PK\x03\x04" + bytes(60), "zip archive", ".npz"),
    "gguf": (b"GGUF\x03" + bytes(60), "GGUF", ".gguf"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(60), "HDF5", ".h5"),
    "pickle 2": (b"\x80\x02}q\x00." + bytes(60), "pickle", ".pkl"),
    "pickle 4": (b"\x80\x04\x95" + bytes(60), "pickle", ".pkl"),
    "tflite": (b"\x1c\x00\x00\x00TFL3" + bytes(60), "TensorFlow", ".tflite"),
}


class Kinds(Files):
    """Files with the extension of another kind: the message names the actual kind."""

    def test_files_under_the_names_of_others(self):
        readers = {
            ".tg": lambda path: [("check", path), ("opt", self.model, "--rules", path)],
            ".onnx": lambda path: [("check", path), ("run", self.model, "--backend", "ref", "--weights", path)],
            ".safetensors": lambda path: [("run", self.model, "--backend", "ref", "--weights", path)],
            ".npy": lambda path: [("run", self.model, "--backend", "ref", "--input", f"x={path}")],
            ".npz": lambda path: [("run", self.model, "--backend", "ref", "--input", path)],
            ".json": lambda path: [("report", path), ("opt", self.model, "--cost", f"file:{path}"), ("opt", self.model, "--priors", path)],
        }
        for kind, (content, words, own) in KINDS.items():
            for ending, commands in readers.items():
                if ending == own:
                    continue
                for command in commands(self.put(f"other{ending}", content)):
                    with self.subTest(kind=kind, command=[str(part) for part in command]):
                        self.fails((words,), *command)

    def test_endings_that_say_nothing(self):
        for ending in (".txt", ".bin", ""):
            self.fails(("ends in .npz",), "run", self.model, "--input", self.put(f"x{ending}", NPY))
            rules = self.put(f"rules{ending}", KINDS["rules"][0])
            ran = tg("opt", self.model, "--rules", rules.name, "--trust-rules", env={"PWD": str(self.folder)})
            self.assertEqual(ran.returncode, 1)

    def test_archives_require_the_name_of_an_array(self):
        zipped = self.folder / "x.npz"
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.writestr("x.npy", NPY)
        self.fails(("without a name",), "run", self.model, "--backend", "ref", "--input", f"x={zipped}")
        self.fails(("NAME=F.npy",), "run", self.model, "--backend", "ref", "--input", self.put("y.npz", NPY))


class Reading(Files):
    def test_a_device_that_never_ends(self):
        for command in self.every_reader("/dev/zero"):
            self.fails(("exceeds the limit of",), *command)

    def test_paths_that_are_not_files(self):
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        folder = self.folder / "folder"
        folder.mkdir()
        unseen = self.folder / "unseen"
        for path, says in ((loop, "Too many levels"), (folder, "s a directory"),
                           (unseen, "No such file")):
            for command in self.every_reader(path):
                self.fails((says,), *command)

    def test_pipes_are_read_as_files_are(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        for text, returns in ((MODEL, 0), ("model m(", 1)):
            writer = subprocess.Popen(["sh", "-c", 'cat > "$0"', path], stdin=subprocess.PIPE)
            writer.stdin.write(text.encode())
            writer.stdin.close()
            self.assertEqual(tg("check", path).returncode, returns)
            writer.wait()
        self.assertEqual(tg("check", "/dev/stdin", data=MODEL.encode()).returncode, 0)

    def test_a_byte_order_mark_is_none_of_the_text(self):
        mark = b"\xef\xbb\xbf"
        marked = self.put("marked.tg", mark + MODEL.encode())
        self.assertEqual(tg("check", marked).returncode, 0)
        costs, trace, priors = (self.folder / name for name in ("c.json", "t.json", "p.json"))
        done = tg("opt", self.model, "--save-costs", costs, "--trace", trace, "--save-priors",
                  priors, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in (costs, trace, priors):
            path.write_bytes(mark + path.read_bytes())
        page = self.folder / "page.html"
        for command in (("opt", self.model, "--cost", f"file:{costs}"),
                        ("opt", self.model, "--priors", priors), ("report", trace, "-o", page)):
            ran = tg(*command)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_invisible_characters_are_named(self):
        for character in ("\u200b", "\ufeff", "\u00a0", "\u202e", "\u2028"):
            path = self.put("odd.tg", f"model m(x: f32[2]) {{ relu(x){character} }}\n")
            text = self.fails((f"U+{ord(character):04X}",), "check", path)
            self.assertNotIn(character, text)

    def test_an_archive_that_unpacks_to_gigabytes(self):
        header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
        shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (536870912,), }"
        zeros = bytes(1 << 20)
        bombs = {"claims.npz": header + shape.ljust(117).encode() + b"\n",
                 "lies.npz": header + shape.replace("536870912", "2, 4").ljust(117).encode() + b"\n"}
        for name, start in bombs.items():
            path = self.folder / name
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                with archive.open("x.npy", "w", force_zip64=True) as member:
                    member.write(start)
                    for _ in range(256):  # a quarter of the declared size, and more than the limit below
                        member.write(zeros)
            self.fails(("must be f32[2, 4]", "bytes of data"), "run", self.model, "--backend", "ref",
                       "--input", path)
        if "ASAN_OPTIONS" in os.environ:  # its shadow memory exceeds the limit
            return
        with_limit = limits(RLIMIT_DATA=200 << 20)
        self.fails(("bytes of data",), "run", self.model, "--backend", "ref", "--input",
                   self.folder / "lies.npz", before=with_limit)

    def test_prices_beyond_reason(self):
        costs = self.folder / "c.json"
        self.assertEqual(tg("opt", self.model, "--save-costs", costs).returncode, 0)
        table = json.loads(costs.read_text())
        for price in ("1e26", "1e300", "-1", "NaN", "Infinity", '"text"', "null", "1e999", "1e16"):
            text = json.dumps({**table, "microseconds": {"relu(f32[2, 4])": 0}})
            self.put("bad.json", text.replace(": 0}", f": {price}}}"))
            self.fails(("price", "expected a number"), "opt", self.model, "--cost",
                       f"file:{self.folder / 'bad.json'}")

    def test_costs_of_any_size_crash_no_solver(self):
        for large in (1e24, 1e26, 1e200, 1.7e308):
            nodes = {}
            for i in range(12):  # shared subgraphs, so that greedy extraction is not optimal
                for j, cost in enumerate((large, large / 3, 1.0)):
                    below = [f"{k}.0" for k in (i + 1 + j, i + 2 + j) if k < 12]
                    nodes[f"{i}.{j}"] = {"op": "f", "children": below, "eclass": str(i),
                                         "cost": cost * (1 + i * j % 5)}
            path = self.put("e.json", json.dumps({"nodes": nodes, "root_eclasses": ["0", "1"]}))
            for extractor in ("ilp", "lp", "best"):
                ran = tg("extract", path, "--extract", extractor, "--time-limit", "5")
                self.assertIn(ran.returncode, (0, 1), (large, extractor, ran.stderr))


class Writing(Files):
    def writers(self, out):
        return [("opt", self.model, "-o", out), ("opt", self.model, "--save-costs", out),
                ("opt", self.model, "--trace", out), ("opt", self.model, "--save-priors", out),
                ("weights", self.weighty, "-o", out), ("fmt", self.model, "-o", out),
                ("opt", self.weighty, "--weights-out", out, "-o", "/dev/null")]

    def setUp(self):
        super().setUp()
        self.weighty = self.put("w.tg", "model w(x: f32[2, 64]) {\n  param w: f32[64, 64]\n  x @ w\n}\n")

    def test_a_file_over_the_limit_of_the_shell_leaves_nothing(self):
        before = sorted(self.folder.iterdir())
        for command in self.writers(self.folder / "out"):
            ran = tg(*command, before=limits(RLIMIT_FSIZE=16))
            self.assertIn(ran.returncode, (0, 1, 2), f"{command}: {ran.stderr.decode()}")
            if (self.folder / "out").exists():  # outputs below the limit are written
                (self.folder / "out").unlink()
            else:
                self.assertIn(b"E0502", ran.stdout + ran.stderr, command)
            self.assertEqual(sorted(self.folder.iterdir()), before, command)

    def test_a_full_disk_is_an_error(self):
        for command in self.writers("/dev/full"):
            self.fails(("No space left",), *command)

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        locked = self.folder / "locked"
        locked.mkdir(mode=0o500)
        for command in self.writers(locked / "out"):
            self.fails(("Permission denied",), *command)


class Terminal(Files):
    ESCAPE = "\x1b[31mred\x1b[0m\x07\u009b31m\u202e"

    def test_no_name_from_a_file_reaches_the_terminal_raw(self):
        header = json.dumps({self.ESCAPE: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})
        header = header.ljust((len(header) + 7) // 8 * 8).encode()
        weights = self.put("w.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
        lacking = self.put("w.tg", 'model m(x: f32[1]) {\n  param w: f32[1] = weight("'
                           + "\\x1b[31mred\\x1b[0m\\x07x" + '")\n  x + w\n}\n')
        table = self.put("c.json", json.dumps({"tangram_costs": 1, "source": self.ESCAPE,
                                               "microseconds": {self.ESCAPE: -1}},
                                              ensure_ascii=False))
        named = self.put(f"{self.ESCAPE}.tg", "model m(x: f32[1]) { relu(y) }\n")
        for command in (("weights", self.model, weights), ("weights", lacking, weights),
                        ("run", lacking, "--backend", "ref", "--weights", weights),
                        ("opt", lacking), ("opt", self.model, "--cost", f"file:{table}"),
                        ("check", named), ("check", f"{self.folder}/{self.ESCAPE}"),
                        ("extract", named), ("explain", lacking), ("opt", lacking, "--verbose")):
            ran = tg(*command)
            text = (ran.stdout + ran.stderr).decode()
            for raw in ("\x1b", "\x07", "\u009b", "\u202e"):
                self.assertNotIn(raw, text, command)

    def test_paths_of_weights_come_back(self):
        source = self.put("w.tg", 'model m(x: f32[2]) {\n  param w: f32[2] = weight("a\\x1b\\t\\"é")\n'
                          "  tanh(x + w)\n}\n")
        out = self.folder / "out.tg"
        self.assertEqual(tg("opt", source, "-o", out).returncode, 0)
        self.assertEqual(tg("verify", source, out).returncode, 0)


class CostDatabase(Files):
    def setUp(self):
        super().setUp()
        self.model = self.put("m.tg", "model m(x: f32[2, 4]) { softmax(x) }\n")
        self.base = self.folder / "costs.db"
        self.run = ("opt", self.model, "--cost", "measured:cpu", "--cost-db", self.base,
                    "--finalists", "0", "--threads", "1")
        if b"cpu" not in tg("devices").stdout:
            self.skipTest("no backend to measure on")

    def test_a_lock_of_another_process_does_not_hold_up(self):
        with open(f"{self.base}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ran = tg(*self.run)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"another process holds the lock", ran.stdout + ran.stderr)

    def test_a_database_that_is_locked_does_not_hold_up(self):
        self.assertEqual(tg(*self.run).returncode, 0)
        base = sqlite3.connect(self.base)
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        base.execute("BEGIN EXCLUSIVE")
        ran = tg(*self.run)
        base.close()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"stored in memory only", ran.stdout + ran.stderr)

    def prices(self):
        base = sqlite3.connect(self.base)
        (count,) = base.execute("SELECT count(*) FROM cost").fetchone()
        base.close()
        return count

    def test_a_price_that_is_none_is_not_used(self):
        for _ in range(50):  # prices measured on a busy machine are not stored
            self.assertEqual(tg(*self.run).returncode, 0)
            if self.prices():
                break
        for price in ("cheap", b"\x00", 1e300, -1.0, float("inf")):
            base = sqlite3.connect(self.base)
            base.execute("UPDATE cost SET microseconds = ?", (price,))
            base.commit()
            base.close()
            ran = tg(*self.run)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn(b"not a number", ran.stdout + ran.stderr, price)

    def test_paths_that_are_not_databases(self):
        for path in ("/dev/zero", "/dev/null", self.folder, "/proc/self/mem"):
            ran = tg("opt", self.model, "--cost", "measured:cpu", "--cost-db", path, "--finalists",
                     "0", "--threads", "1")
            self.assertIn(ran.returncode, (0, 1, 2), (path, ran.stderr))


if __name__ == "__main__":
    TG = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
