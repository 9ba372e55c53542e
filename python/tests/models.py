"""Models that the tests share."""
TWICE = "model twice(x: f32[2, 3]) { relu(relu(x)) }"
LAYER = "model layer(x: f32[4, 8]) {\n  param w: f32[8, 2]\n  x @ w\n}"
# Small, but with a possible rewrite and some work.
TWINS = """
model twins(x: f32[64, 128]) -> (a: f32[64, 64], b: f32[64, 64]) {
  param wa: f32[128, 64]
  param wb: f32[128, 64]
  let a = x @ wa
  let b = x @ wb
  (a, b)
}
"""

# Two products that a rule merges.
PRODUCTS = """
model products(x: f32[64, 64]) {
  param a: f32[64, 64]
  param b: f32[64, 64]
  x @ a + x @ b
}
"""
