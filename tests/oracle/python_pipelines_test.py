#!/usr/bin/env python3
"""Runs programs that use trained ONNX models with the Python package in place of ONNX Runtime's session.
rapidocr-onnxruntime must read the same text in pictures of several sizes. The speech probabilities of silero-vad over a
minute of sound must be equal within 1e-4.

    tests/oracle/python_pipelines_test.py [--tg build/tg] [--optimise] [ocr|vad...]

A model is loaded and stored for each combination of input sizes; --optimise also optimises each.
Packages that are not installed are skipped (`./dev test --oracle --full` installs them).
"""
import argparse
import sys

try:
    import import_pipelines_test as pipelines
    import numpy as np

    import tangram
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

PICTURES = [(480, 34, ["HELLO TANGRAM", "ONNX 2026", "reads 37 networks"]),
            (320, 28, ["one short line"]),
            (640, 40, ["A wider picture, and", "larger letters: 0123456789"]),
            (400, 22, ["small letters", "on six lines", "of which each", "is read alone", "and in order", "to the end"]),
            (720, 30, ["The quick brown fox jumps over the lazy dog"])]
WINDOWS = 60 * 16000 // 512  # a minute
SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 1}


class Session:
    """A session that computes with Tangram. ONNX Runtime's session provides names and metadata."""

    optimise = False
    runs = 0

    def __init__(self, path, sess_options=None, providers=None):
        self._path, self._programs = path, {}
        self._described = pipelines.RealSession(path, sess_options=sess_options, providers=providers)

    def __getattr__(self, name):
        return getattr(self._described, name)

    def _program(self, inputs):
        shapes = {name: list(value.shape) for name, value in inputs.items() if value.ndim}
        key = str(shapes)
        if key not in self._programs:
            model = tangram.load(self._path, shapes=shapes)
            if self.optimise:
                model = model.optimize(**SEARCH).model
            self._programs[key] = model.compile()
        return self._programs[key]

    def run(self, names, inputs):
        Session.runs += 1
        inputs = {name: np.asarray(value) for name, value in inputs.items()}
        program = self._program(inputs)
        found = program(*(inputs[one.name] for one in self._described.get_inputs()))
        found = dict(zip((one.name for one in self._described.get_outputs()),
                         found if isinstance(found, tuple) else (found,)))
        return [found[name] for name in names or found]


def ocr(session):
    return pipelines.ocr(session, [pipelines.picture(lines, width, size) for width, size, lines in PICTURES])


def vad(session):
    return pipelines.vad(session, WINDOWS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg")  # every oracle test gets this option; this one uses the package
    parser.add_argument("--optimise", action="store_true", help="optimise each model before it runs")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    Session.optimise = options.optimise
    return pipelines.check_all({"ocr": ocr, "vad": vad}, options.names, Session, tangram.Error)


if __name__ == "__main__":
    sys.exit(main())
