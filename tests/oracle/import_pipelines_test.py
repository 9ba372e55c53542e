#!/usr/bin/env python3
"""Runs programs that use trained ONNX models with `tg run` in place of ONNX Runtime's session. rapidocr-onnxruntime
must read the same text in a picture. The speech probabilities of silero-vad must be equal within 1e-4.

    tests/oracle/import_pipelines_test.py [--tg build/tg] [--backend cpu] [ocr|vad...]

A pipeline whose packages are not installed is skipped (`./dev test --oracle --full` installs them).
"""
import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from export_test import ROOT  # also skips this test if packages are missing

import networks
import numpy as np
import onnxruntime

LINES = ["HELLO TANGRAM", "ONNX 2026", "reads 37 networks"]
TOLERANCE = 1e-4


class TangramSession:
    """A session that computes with `tg run`. ONNX Runtime's session provides names and metadata."""

    options = None
    runs = 0

    def __init__(self, path, sess_options=None, providers=None):
        self.path = path
        self.described = RealSession(path, sess_options=sess_options, providers=providers)

    def __getattr__(self, name):
        return getattr(self.described, name)

    def run(self, names, inputs):
        TangramSession.runs += 1
        shapes = [f"--shape={n}={','.join(map(str, np.shape(x)))}" for n, x in inputs.items() if np.ndim(x)]
        with tempfile.TemporaryDirectory() as scratch:
            given, out = Path(scratch, "in.npz"), Path(scratch, "out.npz")
            np.savez(given, **inputs)
            command = [self.options.tg, "run", self.path, *shapes, "--backend", self.options.backend, "--runs", "1",
                       "--quiet", "--input", given, "--output", out]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError((done.stderr.strip().splitlines() or ["tg run failed"])[0])
            found = dict(np.load(out))
        return [found[n] for n in names or [o.name for o in self.get_outputs()]]


RealSession = onnxruntime.InferenceSession


def picture(lines=LINES, width=480, size=34):
    """Returns a picture with lines of dark text on a light page."""
    from PIL import Image, ImageDraw, ImageFont
    step = size * 60 // 34
    page = Image.new("RGB", (width, step * len(lines) + 20), (250, 250, 250))
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((20, 15 + step * number), line, (20, 20, 20), ImageFont.load_default(size=size))
    return np.asarray(page)


def ocr(session, pictures=None):
    """Returns [(text, score)] of the recognised lines."""
    from rapidocr_onnxruntime import RapidOCR
    from rapidocr_onnxruntime.utils import infer_engine
    with mock.patch.object(infer_engine, "InferenceSession", session):
        reader = RapidOCR()
        found = [line for page in pictures or [picture()] for line in reader(page)[0] or []]
    return [(text, float(score)) for _, text, score in found]


def vad(session, windows=12):
    """Returns [(frame, probability)] of the model for single windows and of the model for sequences."""
    import torch
    from silero_vad import load_silero_vad
    wave = torch.from_numpy(networks.speech(windows, 512))
    with mock.patch.object(onnxruntime, "InferenceSession", session):
        step, sequence = load_silero_vad(onnx=True, opset_version=15), load_silero_vad(sequence=True)
        single = [step(window, 16000).item() for window in wave]
        joined = np.ravel(sequence.audio_forward(wave.numpy().ravel(), 16000)).tolist()
    return [(f"window {i}", p) for i, p in enumerate(single)] + [(f"frame {i}", p) for i, p in enumerate(joined)]


def check(pipeline, session):
    """Returns the fault of a pipeline with a class of sessions, or an empty string. `session.runs` counts runs."""
    start = time.perf_counter()
    want = pipeline(RealSession)
    between = time.perf_counter()
    session.runs = 0
    got = pipeline(session)
    if session.runs == 0:
        return "the package runs another session"
    if [what for what, _ in got] != [what for what, _ in want]:
        return f"{[what for what, _ in got]}, expected {[what for what, _ in want]}"
    worst = max(abs(a - b) for (_, a), (_, b) in zip(got, want))
    print(f"     {len(want)} results, {want[0][0]} to {want[-1][0]}; {session.runs} runs, differences up to {worst:.1g}; "
          f"{between - start:.1f} s before, {time.perf_counter() - between:.1f} s here")
    return f"a number differs by {worst:.3g}" if worst > TOLERANCE else ""


def check_all(pipelines, names, session, fault):
    """Checks the named pipelines (or all) and returns the exit code. `fault`: the type of a session's errors."""
    failed = 0
    for name, pipeline in pipelines.items():
        if names and name not in names:
            continue
        try:
            wrong = check(pipeline, session)
        except ImportError as missing:
            print(f"[SKIP] {name}: {missing.name} is not installed")
            continue
        except fault as error:
            wrong = str(error)
        failed += bool(wrong)
        print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}", flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--backend", default="cpu", choices=["ref", "cpu"])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    TangramSession.options = options
    return check_all({"ocr": ocr, "vad": vad}, options.names, TangramSession, RuntimeError)


if __name__ == "__main__":
    sys.exit(main())
