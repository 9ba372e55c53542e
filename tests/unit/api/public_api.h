// Helpers of tests that use the public API alone: a model, inputs, runs, and their differences.
#pragma once

#include "tangram/tangram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tangram {

inline constexpr const char* kTwins = R"(
model twins(x: f32[4, 8]) -> (left: f32[4, 16], right: f32[4, 16]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  param c: f32[16]
  (relu(x @ a + c), x @ b)
}
)";

inline Tensor ramp(const std::vector<int64_t>& shape) {
  Tensor tensor{shape, {}};
  int64_t elements = 1;
  for (int64_t size : shape) elements *= size;
  for (int64_t i = 0; i < elements; ++i)
    tensor.data.push_back(0.05f * static_cast<float>(i % 17) - 0.4f);
  return tensor;
}

inline double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double difference = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    for (size_t k = 0; k < a[i].data.size(); ++k)
      difference = std::fmax(difference, std::fabs(a[i].data[k] - b[i].data[k]));
  return difference;
}

inline Model parsed(const char* text) {
  auto model = parse(text);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return *model;
}

inline std::vector<Tensor> run(const Model& model, const std::vector<Tensor>& inputs,
                               const CompileOptions& options = {.backend = Backend::Ref}) {
  auto program = compile(model, options);
  EXPECT_TRUE(program) << (program ? "" : program.error().text());
  auto outputs = program->run(inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
  return *outputs;
}

} // namespace tangram
