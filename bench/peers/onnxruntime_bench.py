#!/usr/bin/env python3
"""Compares Tangram with ONNX Runtime on the same machine, in the same run.

    bench/peers/onnxruntime_bench.py [--tg build/tg] [--threads 1,2] [--cost measured:cpu] [--runs N]
                                     [--json FILE] [MODEL...]

Each network of the demo is built as an ONNX model with the operators, shapes and attributes of
examples/paper/MODEL.tg (for resnet50 of examples/resnet50.tg) and with random weights, on which neither
runtime's time depends. ONNX Runtime runs it with all graph optimisations. Tangram runs the .tg file
unchanged and after `tg opt` (by default with measured costs). The rounds of the three are interleaved,
so that other load affects all of them. Prints the median and the minimum of all rounds.

Requires `pip install onnxruntime onnx numpy`; without them it prints a message and exits with 0.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install onnxruntime onnx numpy)")
    sys.exit(0)


class Net:
    """Builds an ONNX graph; values are represented by their names."""

    def __init__(self, name):
        self.name, self.nodes, self.weights, self.inputs, self.outputs = name, [], [], [], []
        self.shapes = {}
        self.random = np.random.default_rng(1)

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.shapes[name] = list(shape)
        return name

    def weight(self, shape, scale=None, positive=False):
        name = f"w{len(self.weights)}"
        fan_in = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        data = self.random.standard_normal(shape) * (scale or fan_in ** -0.5)
        if positive:
            data = self.random.uniform(0.5, 1.5, shape)
        self.weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        return name

    def ints(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def op(self, kind, *operands, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], **attributes))
        self.shapes[name] = list(shape)
        return name

    def same(self, kind, *operands):
        return self.op(kind, *operands, shape=self.shapes[operands[0]])

    def window(self, x, kernel, stride, pad):
        """Returns the explicit padding and the size of the result; `same` follows TensorFlow."""
        sizes, pads = [], []
        for size in self.shapes[x][2:]:
            if pad == "same":
                out = -(-size // stride)
                total = max(0, (out - 1) * stride + kernel - size)
                pads.append((total // 2, total - total // 2))
            else:
                pads.append((pad, pad))
                out = (size + 2 * pad - kernel) // stride + 1
            sizes.append(out)
        return sizes, [pads[0][0], pads[1][0], pads[0][1], pads[1][1]]

    def conv(self, x, out, kernel=1, stride=1, pad=0, groups=1, relu=False):
        n, c = self.shapes[x][:2]
        sizes, pads = self.window(x, kernel, stride, pad)
        w = self.weight([out, c // groups, kernel, kernel])
        y = self.op("Conv", x, w, shape=[n, out, *sizes], strides=[stride] * 2, pads=pads,
                    group=groups)
        return self.same("Relu", y) if relu else y

    def pool(self, x, kind, kernel, stride, pad=0):
        n, c = self.shapes[x][:2]
        sizes, pads = self.window(x, kernel, stride, pad)
        return self.op(kind, x, shape=[n, c, *sizes], kernel_shape=[kernel] * 2,
                       strides=[stride] * 2, pads=pads)

    def batch_norm(self, x):
        c = self.shapes[x][1]
        vectors = [self.weight([c], positive=True), self.weight([c], 0.1), self.weight([c], 0.1),
                   self.weight([c], positive=True)]
        return self.op("BatchNormalization", x, *vectors, shape=self.shapes[x])

    def matmul(self, x, y, shape):
        return self.op("MatMul", x, y, shape=shape)

    def model(self):
        outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, self.shapes[o])
                   for o in self.outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def squeezenet():
    net = Net("squeezenet")
    x = net.conv(net.input("image", [1, 3, 224, 224]), 64, 3, 2, relu=True)

    def fire(x, squeeze, expand):
        s = net.conv(x, squeeze, relu=True)
        left, right = net.conv(s, expand, relu=True), net.conv(s, expand, 3, pad="same", relu=True)
        n, c, h, w = net.shapes[left]
        return net.op("Concat", left, right, shape=[n, 2 * c, h, w], axis=1)

    for pool, widths, expand in [(1, [16] * 2, 64), (1, [32] * 2, 128), (1, [48] * 2, 192),
                                 (0, [64] * 2, 256)]:
        if pool:
            x = net.pool(x, "MaxPool", 3, 2)
        for width in widths:
            x = fire(x, width, expand)
    x = net.conv(x, 1000, relu=True)
    x = net.pool(x, "AveragePool", 13, 13)
    net.outputs = [net.op("Reshape", x, net.ints([1, 1000]), shape=[1, 1000])]
    return net


def resnet50():
    net = Net("resnet50")

    def conv_bn(x, *arguments, **more):
        return net.batch_norm(net.conv(x, *arguments, **more))

    def bottleneck(x, width, stride):
        y = net.same("Relu", conv_bn(x, width))
        y = net.same("Relu", conv_bn(y, width, 3, stride, 1))
        y = conv_bn(y, 4 * width)
        if stride > 1 or net.shapes[x][1] != 4 * width:
            x = conv_bn(x, 4 * width, 1, stride)
        return net.same("Relu", net.same("Add", y, x))

    x = net.same("Relu", conv_bn(net.input("image", [1, 3, 224, 224]), 64, 7, 2, 3))
    x = net.pool(x, "MaxPool", 3, 2, 1)
    for blocks, width, stride in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)]:
        for i in range(blocks):
            x = bottleneck(x, width, stride if i == 0 else 1)
    x = net.op("ReduceMean", x, shape=[1, 2048], axes=[2, 3], keepdims=0)
    x = net.matmul(x, net.weight([2048, 1000]), [1, 1000])
    x = net.same("Add", x, net.weight([1000], 0.1))
    net.outputs = [net.op("Softmax", x, shape=[1, 1000], axis=-1)]
    return net


def resnext50():
    net = Net("resnext50")

    def block(x, width, stride):
        y = net.conv(x, width, relu=True)
        y = net.conv(y, width, 3, stride, "same", groups=32, relu=True)
        y = net.conv(y, 2 * width)
        if stride > 1 or net.shapes[x][1] != 2 * width:
            x = net.conv(x, 2 * width, 1, stride, "same", relu=True)
        return net.same("Relu", net.same("Add", y, x))

    x = net.conv(net.input("image", [1, 3, 224, 224]), 64, 7, 2, "same", relu=True)
    x = net.pool(x, "MaxPool", 3, 2, "same")
    for blocks, width, stride in [(3, 128, 1), (4, 256, 2), (6, 512, 2), (3, 1024, 2)]:
        for i in range(blocks):
            x = block(x, width, stride if i == 0 else 1)
    net.outputs = [x]
    return net


def nasrnn():
    net, width = Net("nasrnn"), 512
    shape = [1, width]

    def combine(x, h):
        wx, wh = net.weight([width, width], 0.05), net.weight([width, width], 0.05)
        return net.same("Add", net.matmul(x, wx, shape), net.matmul(h, wh, shape))

    def cell(h, x):
        def gate(kind):
            return net.same(kind, combine(x, h))

        a = net.same("Add", gate("Relu"), gate("Sigmoid"))
        b = net.same("Add", gate("Sigmoid"), gate("Tanh"))
        c = net.same("Mul", gate("Sigmoid"), gate("Tanh"))
        d = net.same("Mul", gate("Sigmoid"), gate("Relu"))
        e = net.same("Add", net.same("Sigmoid", b), net.same("Tanh", c))
        f = net.same("Mul", net.same("Tanh", a), net.same("Tanh", d))
        return net.same("Tanh", net.same("Mul", net.same("Tanh", e), net.same("Tanh", f)))

    h = net.weight(shape, 1.0)
    net.shapes[h] = shape
    for i in range(5):
        h = cell(h, net.input(f"x{i}", shape))
    net.outputs = [h]
    return net


def bert():
    net, heads, seq, width = Net("bert"), 16, 64, 1024
    x = net.same("Relu", net.input("tokens", [seq, width]))
    part = width // heads
    for _ in range(8):
        def project(x):
            return net.matmul(x, net.weight([width, width], 0.03), [seq, width])

        def split_up(y):
            y = net.op("Reshape", y, net.ints([seq, heads, part]), shape=[seq, heads, part])
            return net.op("Transpose", y, shape=[heads, seq, part], perm=[1, 0, 2])

        q, k, v = (split_up(project(x)) for _ in range(3))
        mixed = net.matmul(q, k, [heads, seq, seq])
        mixed = net.matmul(mixed, v, [heads, seq, part])
        y = net.op("Transpose", mixed, shape=[seq, heads, part], perm=[1, 0, 2])
        net.outputs.append(net.op("Reshape", y, net.ints([seq, width]), shape=[seq, width]))
        x = project(x)
    net.outputs.append(x)
    return net


NETS = {f.__name__: f for f in (squeezenet, resnet50, resnext50, nasrnn, bert)}


class OnnxRuntime:
    def __init__(self, net, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = ort.InferenceSession(net.model().SerializeToString(), options,
                                            providers=["CPUExecutionProvider"])
        random = np.random.default_rng(2)
        self.feeds = {i.name: random.standard_normal(i.shape).astype(np.float32)
                      for i in self.session.get_inputs()}
        # Inputs and outputs stay in the runtime's memory, because Tangram's times include no copies either.
        self.binding = self.session.io_binding()
        for name, value in self.feeds.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)
        self.session.run_with_iobinding(self.binding)

    def times(self, runs):
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append((time.perf_counter() - start) * 1e3)
        return times


def tangram_times(tg, path, threads, runs):
    done = subprocess.run([tg, "run", str(path), "--backend", "cpu", "--threads", str(threads),
                           "--runs", str(runs), "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    result = json.loads(done.stdout)
    return [result["median_us"] / 1e3], [result.get("p10_us", result["median_us"]) / 1e3]


def source_of(name):
    """Returns the .tg file of a network: the complete ResNet-50, else the paper's skeleton."""
    return ROOT / "examples" / ("" if name == "resnet50" else "paper") / f"{name}.tg"


def optimise(tg, name, threads, cost, folder):
    out = Path(folder) / f"{name}_{threads}.tg"
    done = subprocess.run([tg, "opt", str(source_of(name)), "--cost",
                           cost, "--threads", str(threads), "-o", str(out), "--quiet"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"  tg opt: {done.stderr.strip()}", file=sys.stderr)
        return None
    return out


def compare(name, threads, options, folder):
    tg, runs, rounds = options.tg, options.runs, options.rounds
    peer = OnnxRuntime(NETS[name](), threads)
    paths = {"source": source_of(name)}
    optimised = optimise(tg, name, threads, options.cost, folder)
    if optimised:
        paths["optimised"] = optimised
    medians = {"onnxruntime": []}
    least = {"onnxruntime": []}
    for _ in range(rounds):
        times = peer.times(runs)
        medians["onnxruntime"].append(statistics.median(times))
        least["onnxruntime"].append(statistics.quantiles(times, n=10)[0])
        for what, path in paths.items():
            median, low = tangram_times(tg, path, threads, runs)
            medians.setdefault(what, []).extend(median)
            least.setdefault(what, []).extend(low)
    row = {"model": name, "threads": threads, "onnxruntime_version": ort.__version__}
    for what, values in medians.items():
        row[f"{what}_median_ms"] = round(statistics.median(values), 3)
        row[f"{what}_p10_ms"] = round(min(least[what]), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(NETS), metavar="MODEL")
    parser.add_argument("--tg", default=str(ROOT / "build" / "tg"))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--cost", default="measured:cpu", help="prices for tg opt")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    print(f"ONNX Runtime {ort.__version__}; load average {os.getloadavg()[0]:.2f}; milliseconds: "
          "median (tenth percentile of the best round)")
    print(f"{'model':<12}{'threads':>8}{'ONNX Runtime':>20}{'tg, source':>20}{'tg, optimised':>20}"
          f"{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for threads in (int(t) for t in options.threads.split(",")):
            for name in options.models:
                row = compare(name, threads, options, folder)
                rows.append(row)
                cells = [f"{row[f'{w}_median_ms']:.2f} ({row[f'{w}_p10_ms']:.2f})"
                         if f"{w}_median_ms" in row else "-"
                         for w in ("onnxruntime", "source", "optimised")]
                best = min(row.get("optimised_median_ms", row["source_median_ms"]),
                           row["source_median_ms"])
                print(f"{name:<12}{threads:>8}" + "".join(f"{c:>20}" for c in cells)
                      + f"{row['onnxruntime_median_ms'] / best:>8.2f}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
