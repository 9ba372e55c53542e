"""A model as text, made faster, checked and run on NumPy arrays."""
import numpy as np
import tangram

model = tangram.parse("""
model adapted(x: f32[16, 64]) -> (y: f32[16, 32]) {
  param w: f32[64, 32]
  param a: f32[64, 4]
  param b: f32[4, 32]
  relu(x @ w + (x @ a) @ b)
}
""")
random = np.random.default_rng(1)
weights = {"w": random.normal(size=(64, 32)), "a": random.normal(size=(64, 4)),
           "b": random.normal(size=(4, 32))}
weights = {name: value.astype(np.float32) for name, value in weights.items()}
x = random.normal(size=(16, 64)).astype(np.float32)

fast, report = model.optimize(cost="analytic:cpu")
print(report.nodes_before, "operators, then", report.nodes_after)
print("equal:", model.verify(fast).equal)

y = fast.with_weights(weights).run(x)
expected = np.maximum(x @ weights["w"] + x @ weights["a"] @ weights["b"], 0)
np.testing.assert_allclose(y, expected, atol=1e-3)
print("as NumPy computes it")
