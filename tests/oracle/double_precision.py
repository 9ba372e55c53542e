"""Computes the outputs of a network in double precision, for import_networks_test.py: PyTorch's outputs if networks.py
stored them, else those of the onnx package's reference evaluator on the model with f64 in place of f32.
"""
import networks
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE


# The evaluator uses the batch axis as channels in LRN, and treats older versions of the other two as training.
class LRN(OpRun):
    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        before, after = (size - 1) // 2, size // 2
        squares = np.pad(x * x, [(0, 0), (before, after)] + [(0, 0)] * (x.ndim - 2))
        around = sum(squares[:, i:i + x.shape[1]] for i in range(size))
        return (x / (bias + alpha / size * around) ** beta,)


class BatchNormalization(OpRun):
    def _run(self, x, scale, shift, mean, variance, epsilon=None, **_):
        def along(v):
            return v.reshape(-1, *[1] * (x.ndim - 2))

        return ((x - along(mean)) / np.sqrt(along(variance) + epsilon) * along(scale) + along(shift),)


class Dropout(OpRun):
    def _run(self, x, *_, **__):
        return (x,)


def double_tensor(tensor):
    if tensor.data_type == FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def double_graph(graph):
    """Replaces f32 by f64 in the graph and its subgraphs."""
    for tensor in graph.initializer:
        double_tensor(tensor)
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            double_tensor(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == FLOAT:
                attribute.i = DOUBLE
            if attribute.type == onnx.AttributeProto.GRAPH:
                double_graph(attribute.g)


def evaluate(path):
    model, inputs = onnx.load(path), dict(np.load(path.with_suffix(".npz")))
    double_graph(model.graph)
    for node in model.graph.node:
        if node.op_type == "Softmax" and not node.attribute and model.opset_import[0].version < 13:
            node.attribute.append(onnx.helper.make_attribute("axis", 1))  # the evaluator's default is -1
    inputs = {n: x.astype(np.float64) if x.dtype == np.float32 else x for n, x in inputs.items()}
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model, new_ops=[LRN, BatchNormalization, Dropout]).run(None, inputs)


def outputs(name):
    """Returns the outputs in the model's order, or None if they cannot be computed here."""
    path = networks.prepare(name)
    kept = path.with_suffix(".f64.npz")
    if not kept.exists():
        if name not in networks.LIGHT and name not in networks.TRAINED:
            return None
        np.savez(kept, *evaluate(path))
    arrays = np.load(kept)
    return [arrays[n] for n in arrays.files]
