#!/usr/bin/env python3
"""Tests that integers are exact in all files that are read and written: values near the limits of floats with 24 and
53 bits, of i32 and of i64, in inputs and outputs (.npy, .npz), weights (.safetensors, .npz), examples and trained
weights of --steps, literals, ONNX files and JSON. Floats keep their bits in the same files.

    tests/whole_numbers_test.py [build/tg] [--keep FOLDER]
"""
import argparse
import io
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMALL = [0, 1, -1, 7, 2**24 - 1, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31)]
LARGE = [2**31, 2**31 + 1, -(2**31) - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63)]
VALUES = {"i32": SMALL, "i64": SMALL + LARGE, "bool": [0, 1, 1],
          "f64": [0.1, -1e300, 5e-324, 2.0**53 + 2], "f32": [0.5, -(2.0**100), 16777215.0]}
CODES = {"i32": ("<i4", "i", "I32"), "i64": ("<i8", "q", "I64"), "bool": ("|b1", "?", "BOOL"),
         "f64": ("<f8", "d", "F64"), "f32": ("<f4", "f", "F32")}


def packed(dtype, values):
    return struct.pack(f"<{len(values)}{CODES[dtype][1]}", *values)


def npy(dtype, shape, values):
    """Returns the bytes of a .npy file."""
    sizes = "".join(f"{n}, " for n in shape)
    header = f"{{'descr': '{CODES[dtype][0]}', 'fortran_order': False, 'shape': ({sizes}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + packed(dtype, values)


def read_npy(data):
    """Returns the dtype and the values of a .npy file."""
    length = struct.unpack("<H", data[8:10])[0]
    descr = data[10:10 + length].decode().split("'descr': '")[1].split("'")[0]
    dtype = next(name for name, code in CODES.items() if code[0] == descr)
    size = struct.calcsize("<" + CODES[dtype][1])
    body = data[10 + length:]
    return dtype, list(struct.unpack(f"<{len(body) // size}{CODES[dtype][1]}", body))


def npz(arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def safetensors(arrays):
    header, body = {}, b""
    for name, (dtype, values) in arrays.items():
        data = packed(dtype, values)
        header[name] = {"dtype": CODES[dtype][2], "shape": [len(values)],
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def read_safetensors(data, name):
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])[name]
    dtype = next(d for d, code in CODES.items() if code[2] == entry["dtype"])
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    size = struct.calcsize("<" + CODES[dtype][1])
    return list(struct.unpack(f"<{(end - begin) // size}{CODES[dtype][1]}", data[begin:end]))


class Ways:
    def __init__(self, tg, folder):
        self.tg, self.folder, self.cases, self.wrong = tg, folder, 0, 0

    def path(self, name, data=None):
        path = self.folder / name
        if data is not None:
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def run(self, *arguments):
        done = subprocess.run([self.tg, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"tg {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def check(self, way, expected, found):
        for want, got in zip(expected, found):
            self.cases += 1
            if type(want) is not type(got) or want != got:
                self.wrong += 1
                print(f"{way}: {want!r} became {got!r}")
        if len(expected) != len(found):
            self.wrong += 1
            print(f"{way}: {len(expected)} values became {len(found)}")

    def outputs(self, *arguments, output="y"):
        """Returns the output of a run, written as .npz and as .npy."""
        self.run("run", *arguments, "--quiet", "--output", str(self.folder / "out.npz"))
        self.run("run", *arguments, "--quiet", "--output", str(self.folder / "out"))
        with zipfile.ZipFile(self.folder / "out.npz") as archive:
            return [read_npy(archive.read(output + ".npy"))[1],
                    read_npy((self.folder / "out" / (output + ".npy")).read_bytes())[1]]

    def of_dtype(self, dtype):
        values = [bool(v) for v in VALUES[dtype]] if dtype == "bool" else VALUES[dtype]
        n = len(values)
        # reshape computes nothing, but both backends keep it between an input and an output
        given = self.path("given.tg", f"model given(x: {dtype}[{n}]) -> (y: {dtype}[{n}, 1]) {{ reshape(x, [{n}, 1]) }}\n")
        held = self.path("held.tg", f"model held() -> (y: {dtype}[{n}, 1]) {{\n  param x: {dtype}[{n}] = weight(\"x\")\n"
                                    f"  reshape(x, [{n}, 1])\n}}\n")
        self.path("x.npy", npy(dtype, [n], values))
        self.path("x.npz", npz({"x": npy(dtype, [n], values)}))
        self.path("x.safetensors", safetensors({"x": (dtype, values)}))
        for backend in ("ref", "cpu"):
            on = ["--backend", backend]
            if dtype == "f64" and backend == "cpu":
                continue  # computes in f32 by default
            for name, arguments in {
                ".npy input": [given, "--input", f"x={self.path('x.npy')}"],
                ".npz input": [given, "--input", self.path("x.npz")],
                ".safetensors weight": [held, "--weights", self.path("x.safetensors")],
            }.items():
                for found in self.outputs(*arguments, *on):
                    self.check(f"{dtype} {name} on {backend}", values, found)
        if dtype != "f64":
            self.through_onnx(dtype, held, values)

    def through_onnx(self, dtype, held, values):
        onnx = self.path("held.onnx")
        self.run("export", held, "--weights", self.path("x.safetensors"), "-o", onnx, "--quiet")
        for found in self.outputs(onnx, "--backend", "ref"):
            self.check(f"{dtype} initializer of ONNX", values, found)
        text = self.path("back.tg")
        self.run("import", onnx, "-o", text, "--quiet")
        for found in self.outputs(text, "--weights", onnx, "--backend", "ref"):
            self.check(f"{dtype} weight of an imported file", values, found)

    def literals(self):
        for dtype in ("i32", "i64"):
            for n in VALUES[dtype]:
                text = self.path("one.tg", f"model one(x: {dtype}[1]) -> (y: {dtype}[1]) {{ x * 0 + ({n}) }}\n")
                self.path("x.npy", npy(dtype, [1], [3]))
                formatted = self.path("formatted.tg", Path(text).read_bytes())
                best, onnx, back = self.path("best.tg"), self.path("one.onnx"), self.path("back.tg")
                self.run("fmt", formatted)
                self.run("opt", text, "--cost", "analytic:cpu", "-o", best, "--quiet", "--search", "saturate")
                self.run("export", text, "-o", onnx, "--quiet")
                self.run("import", onnx, "-o", back, "--quiet")
                for way in (text, formatted, best, onnx, back):
                    for found in self.outputs(way, "--backend", "ref", "--input", f"x={self.path('x.npy')}"):
                        self.check(f"{dtype} literal, {Path(way).name}", [n], found)

    def steps(self):
        """Checks the history of --steps, as JSON and as text, and the final weights."""
        for n in VALUES["i64"]:
            text = self.path("steps.tg", "model count(w: i64[1]) -> (last: i64[1], w: i64[1]) {\n  (w, w + 1)\n}\n")
            self.path("w.npy", npy("i64", [1], [n]))
            arguments = ["run", text, "--backend", "ref", "--steps", "2", "--input", f"w={self.path('w.npy')}"]
            next_one = (n + 1 + 2**63) % 2**64 - 2**63
            history = json.loads(self.run(*arguments, "--json"))["history"]
            self.check("history of --steps, JSON", [n, next_one], [step["last"] for step in history])
            lines = [line for line in self.run(*arguments).splitlines() if "  step " in line]
            self.check("history of --steps", [str(n), str(next_one)], [line.split()[-1] for line in lines])
            self.trained(n)

    def trained(self, n):
        """Checks an example from a file, and a weight that steps update."""
        text = self.path("train.tg", "model train(x: i64[1]) -> (seen: i64[1]) {\n  param w: i64[1] = weight(\"w\")\n"
                                     "  update(w, w + x)\n  x + 0\n}\n")
        self.path("w.safetensors", safetensors({"w": ("i64", [0])}))
        trained = self.path("trained.safetensors")
        found = json.loads(self.run(
            "run", text, "--backend", "ref", "--steps", "1", "--weights", self.path("w.safetensors"), "--weights-out",
            trained, "--data", f"x={self.path('w.npy')}", "--json"))
        self.check("example of --data", [n], [found["history"][0]["seen"]])
        self.check("weight of --weights-out", [n], read_safetensors(Path(trained).read_bytes(), "w"))

    def counterexamples(self):
        for n in VALUES["i64"]:
            text = self.path("two.tg", f"model a(x: i64[1]) {{ select(x > 0, x * 0 + ({n}), x * 0) }}\n"
                                       f"model b(x: i64[1]) {{ select(x > 0, x * 0 + ({n}) + 1, x * 0) }}\n")
            done = subprocess.run([self.tg, "verify", text, "--json"], capture_output=True, text=True, check=False)
            example = json.loads(done.stdout)["counterexample"]
            self.check("counterexample, JSON", [n, (n + 1 + 2**63) % 2**64 - 2**63], [example["a"], example["b"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tg", nargs="?", default=ROOT / "build" / "tg")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.keep or scratch)
        folder.mkdir(exist_ok=True)
        ways = Ways(str(Path(arguments.tg).resolve()), folder)
        for dtype in VALUES:
            ways.of_dtype(dtype)
        ways.literals()
        ways.steps()
        ways.counterexamples()
    print(f"{ways.cases} values, {ways.wrong} wrong")
    return 1 if ways.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
