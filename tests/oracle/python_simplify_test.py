#!/usr/bin/env python3
"""Tests `tangram.simplify` with ONNX Runtime, and with OpenVINO if it is installed. The written file is the original,
or computes the same result in the runtime.

    tests/oracle/python_simplify_test.py [--tg build/tg] [RUNTIME...]
"""
import argparse
import sys
import tempfile
import time
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    import tangram
    from tangram._runtimes import RUNTIMES
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)


def chain(path):
    """Writes a model with products that can be merged, which the runtimes do not do."""
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.standard_normal((256, 256)).astype("float32") / 16, f"w{i}")
               for i in range(4)]
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"p{i}"]) for i in range(4)]
    nodes.append(helper.make_node("Sum", [f"p{i}" for i in range(4)], ["s"]))
    nodes.append(helper.make_node("Relu", ["s"], ["y"]))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [128, 256]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)


class Simplify(unittest.TestCase):
    def test_products_that_join(self):
        for runtime in runtimes:
            with self.subTest(runtime), tempfile.TemporaryDirectory() as folder:
                source, target = Path(folder, "m.onnx"), Path(folder, "fast.onnx")
                chain(source)
                done = tangram.simplify(source, target, runtime=runtime, threads=1, seconds=1)
                print(done, flush=True)
                onnx.checker.check_model(str(target))
                self.assertEqual(done.faster, target.read_bytes() != source.read_bytes())
                old, new = (RUNTIMES[runtime](str(path), 1) for path in (source, target))
                x = np.random.default_rng(2).standard_normal((128, 256)).astype("float32")
                a, b = old.run([x])[0], new.run([x])[0]
                self.assertLess(np.abs(a - b).max() / np.abs(a).max(), 1e-4)

    def test_threads_rest_between_runs(self):
        """Threads must not spin after a run, or they take cores from the session with which runs are interleaved."""
        for runtime in runtimes:
            with self.subTest(runtime), tempfile.TemporaryDirectory() as folder:
                chain(Path(folder, "m.onnx"))
                session, x = RUNTIMES[runtime](str(Path(folder, "m.onnx")), 2), np.ones((128, 256), "float32")
                used = []
                for _ in range(5):
                    session.run([x])
                    before = time.process_time()
                    time.sleep(0.05)
                    used.append(time.process_time() - before)
                self.assertLess(min(used), 0.02, "processor seconds while nothing ran for 0.05")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # every oracle test gets this option; this one uses the package
    parser.add_argument("runtimes", nargs="*")
    arguments = parser.parse_args()
    runtimes = arguments.runtimes or ["onnxruntime"]
    try:
        import openvino  # noqa: F401
        runtimes += [] if arguments.runtimes else ["openvino"]
    except ImportError:
        pass
    unittest.main(argv=[sys.argv[0]], verbosity=1)
