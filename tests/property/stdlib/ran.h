// Runs programs on the reference backend with weights and inputs that the test generates.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "tests/property/stdlib/reference.h"

#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <map>

namespace tg::test {

/// Returns a number in [-1, 1) that depends only on name and index. The test has its own generator.
inline double number(const std::string& name, size_t index) {
  uint64_t state = 1469598103934665603u;
  for (char c : name) state = (state ^ static_cast<uint8_t>(c)) * 1099511628211u;
  state += 0x9e3779b97f4a7c15u * (index + 1);
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((state ^ (state >> 31)) >> 11) / 4503599627370496.0 - 1;
}

/// Returns a tensor of such numbers: variances and scales positive, integers from 0 to 6,
/// labels up to 2.
inline Tensor drawn(const std::string& name, const TensorType& type) {
  Result<Tensor> made = Tensor::zeros(type);
  EXPECT_TRUE(made);
  int64_t n = type.elements();
  bool positive = llvm::StringRef(name).contains("variance") || name == "adam.step";
  for (int64_t i = 0; i < n; ++i) {
    double x = number(name, static_cast<size_t>(i));
    if (type.dtype == DType::I64)
      reinterpret_cast<int64_t*>(made->data())[i] = static_cast<int64_t>((x + 1) * 1.5);
    else if (type.dtype == DType::I32)
      reinterpret_cast<int32_t*>(made->data())[i] = static_cast<int32_t>((x + 1) * 3.5);
    else
      made->floats()[static_cast<size_t>(i)] = static_cast<float>(positive ? 1 + x / 2 : 2 * x);
  }
  return std::move(*made);
}

inline Array array_of(const Tensor& tensor) {
  return {{tensor.type().shape.begin(), tensor.type().shape.end()}, tensor.doubles()};
}

/// The run of a program: its inputs by name, its weights by path, its outputs in order.
struct RunResult {
  std::map<std::string, Array> inputs, weights;
  std::vector<Array> outputs;

  const Array& x(const std::string& name = "x") const { return find(inputs, name); }
  const Array& w(const std::string& path) const { return find(weights, path); }

private:
  static const Array& find(const std::map<std::string, Array>& all, const std::string& name) {
    auto found = all.find(name);
    if (found != all.end()) return found->second;
    ADD_FAILURE() << "there is no " << name;
    return all.begin()->second;
  }
};

/// Runs a program on `ref`. On failure, reports the error and returns nullopt.
inline std::optional<RunResult> run(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, sources.add("case.tg", text), {}, sink);
  std::string errors;
  llvm::raw_string_ostream out(errors);
  for (const Diagnostic& d : sink.all()) render(d, sources, out);
  EXPECT_TRUE(graph) << out.str();
  if (!graph) return std::nullopt;
  RunResult ran;
  PrepareOptions options;
  options.backend = "ref";
  options.weights = [&](const PlanValue& weight) -> Result<Tensor> {
    Tensor tensor = drawn(weight.name, weight.type);
    ran.weights[weight.name] = array_of(tensor);
    return tensor;
  };
  Result<Prepared> prepared = prepare(*graph, options);
  EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().message);
  if (!prepared) return std::nullopt;
  std::vector<Tensor> inputs;
  for (PlanValueId id : prepared->plan.inputs) {
    const PlanValue& value = prepared->plan.values[id];
    inputs.push_back(drawn(value.name, value.type));
    ran.inputs[value.name] = array_of(inputs.back());
  }
  EXPECT_TRUE(prepared->executable->bind_inputs(inputs));
  EXPECT_TRUE(prepared->executable->run_once());
  Result<std::vector<Tensor>> outputs = prepared->executable->outputs();
  EXPECT_TRUE(outputs);
  for (const Tensor& output : *outputs) ran.outputs.push_back(array_of(output));
  return ran;
}

/// Returns max |a - b| / max |b|, or infinity for different shapes.
inline double difference(const Array& a, const Array& b) {
  if (a.shape != b.shape) return INFINITY;
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < a.data.size(); ++i) {
    if (!std::isfinite(a.data[i])) return INFINITY;
    worst = std::fmax(worst, std::fabs(a.data[i] - b.data[i]));
    largest = std::fmax(largest, std::fabs(b.data[i]));
  }
  return worst / largest;
}

} // namespace tg::test
