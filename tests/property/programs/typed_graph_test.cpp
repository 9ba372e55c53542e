// Tests random graphs (typed_graph.h) against float64 and exact integers: on ref, on cpu,
// with folded weights, and optimised. Their text reads back as the same graph. Seeds
// are fixed. TANGRAM_FULL_TESTS runs 10^5 graphs.
#include "compiler/api/backends/backends.h"
#include "compiler/api/files/model.h"
#include "compiler/api/files/weights.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"
#include "runtime/convert.h"
#include "tests/property/programs/typed_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tg::test {
namespace {

/// Numbers of graphs by default and in the full test. One graph in kOptimisedEvery
/// is also optimised.
constexpr uint64_t kGraphs = 10'000, kAllGraphs = 100'000, kOptimisedEvery = 20;

Tensor tensor_of(const TensorType& type, const TypedValues& values) {
  Result<Tensor> tensor = Tensor::zeros(type);
  if (is_float(type.dtype))
    narrow(type.dtype, values.reals.data(), tensor->data(), type.elements());
  else
    narrow(type.dtype, values.wholes.data(), tensor->data(), type.elements());
  return std::move(*tensor);
}

TypedValues values_of(const Tensor& tensor) {
  TypedValues values;
  const TensorType& type = tensor.type();
  auto count = static_cast<size_t>(type.elements());
  if (is_float(type.dtype)) {
    values.reals.resize(count);
    widen(type.dtype, tensor.data(), values.reals.data(), type.elements());
  } else {
    values.wholes.resize(count);
    widen(type.dtype, tensor.data(), values.wholes.data(), type.elements());
  }
  return values;
}

class TypedGraphs : public ::testing::Test {
protected:
  void SetUp() override {
    auto rules = load_rules(sources_, library(), {}, sink_);
    ASSERT_TRUE(rules);
    rules_ = std::move(*rules);
  }

  PrepareOptions options(const TypedGraph& of, llvm::StringRef backend) {
    PrepareOptions options;
    options.backend = backend.str();
    options.threads = 1;
    options.weights = [&of](const PlanValue& value) -> Result<Tensor> {
      return tensor_of(value.type, of.leaves.at(value.name));
    };
    return options;
  }

  void run(const TypedGraph& of, const Expected& expected, const Graph& graph,
           const PrepareOptions& how, llvm::StringRef what) {
    Result<Prepared> prepared = prepare(graph, how);
    if (!prepared) return fail(of, what.str() + ": " + prepared.error().message);
    std::vector<Tensor> inputs;
    for (PlanValueId id : prepared->plan.inputs) {
      const PlanValue& value = prepared->plan.values[id];
      inputs.push_back(tensor_of(value.type, of.leaves.at(value.name)));
    }
    Result<std::vector<Tensor>> outputs = prepared->executable->run(inputs);
    if (!outputs) return fail(of, what.str() + ": " + outputs.error().message);
    for (size_t i = 0; i < outputs->size(); ++i) {
      NodeId id = of.graph.outputs()[i].node;
      if (!((*outputs)[i].type() == of.graph.type(id)))
        return fail(of, what.str() + ": another type");
      if (!expected.bounded(id)) continue;
      ++compared_;
      if (std::string why = expected.fault(id, values_of((*outputs)[i])); !why.empty())
        return fail(of, llvm::formatv("{0}: output {1}: {2}\n{3}", what, of.graph.outputs()[i].name,
                                      why, what == "optimised" ? to_text(graph) : ""));
    }
  }

  void read_back(const TypedGraph& of) {
    SourceManager sources;
    DiagnosticSink sink;
    std::string text = to_text(of.graph);
    std::optional<Graph> back = load_model(sources, sources.add("random.tg", text), {}, sink);
    if (!back) return fail(of, "its text: " + (sink.all().empty() ? "" : sink.all()[0].message));
    if (std::string why = difference(of.graph, *back); !why.empty()) fail(of, "its text: " + why);
  }

  void optimised(const TypedGraph& of, const Expected& expected) {
    OptimizeOptions options;
    options.explore.iterations = 3;
    options.explore.node_limit = 400;
    options.explore.numerics = Numerics::Reassociates;
    options.extract.extractor = Extractor::Greedy;
    auto costs = make_analytic_cost("cpu");
    auto result = optimize(of.graph, rules_, **costs, options, nullptr);
    if (!result.ok()) return fail(of, "optimise: " + result.error().message);
    run(of, expected, result->graph, this->options(of, "ref"), "optimised");
  }

  void check(uint64_t seed) {
    seed_ = seed;
    TypedGraph of(seed);
    Expected expected(of);
    for (uint32_t i = 0; i < of.graph.size(); ++i)
      ++drawn_[static_cast<size_t>(of.graph.node({i}).op)];
    run(of, expected, of.graph, options(of, "ref"), "ref");
    if (find_backend("cpu")) run(of, expected, of.graph, options(of, "cpu"), "cpu");
    Folded folded = fold_weights(of.graph);
    PrepareOptions with_weights = options(of, "ref");
    Result<WeightSource> source = folded_weights(folded, with_weights);
    if (!source) return fail(of, "fold: " + source.error().message);
    with_weights.weights = std::move(*source);
    run(of, expected, folded.graph, with_weights, "folded");
    read_back(of);
    if (seed % kOptimisedEvery == 0) optimised(of, expected);
  }

  void fail(const TypedGraph& of, const std::string& why) {
    if (++failed_ <= 20)
      ADD_FAILURE() << "graph " << seed_ << ": " << why << "\n" << to_text(of.graph);
  }

  SourceManager sources_;
  DiagnosticSink sink_;
  std::vector<Rule> rules_;
  uint64_t seed_ = 0;
  size_t failed_ = 0, compared_ = 0;
  std::array<size_t, kOpCount> drawn_{};
};

TEST_F(TypedGraphs, ComputeTheirDefinition) {
  const char* one = std::getenv("TANGRAM_GRAPH");
  if (one) return check(std::strtoull(one, nullptr, 10));
  uint64_t graphs = std::getenv("TANGRAM_FULL_TESTS") ? kAllGraphs : kGraphs;
  for (uint64_t seed = 1; seed <= graphs; ++seed) check(seed);
  EXPECT_EQ(failed_, 0U) << "of " << graphs << " graphs";
  EXPECT_GT(compared_, graphs);
  for (const OpInfo& op : all_ops()) {
    bool drawn = drawn_[static_cast<size_t>(op.kind)] > 0;
    EXPECT_TRUE(drawn || op.has(Trait::Leaf | Trait::Sugar) || op.kind == OpKind::Extern)
        << op.name << " was never drawn";
  }
}

} // namespace
} // namespace tg::test
