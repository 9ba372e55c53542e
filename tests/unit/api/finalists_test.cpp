// Tests the choice among the best candidates by whole runs, with invented times, and
// screening on a real backend.
#include "compiler/optimizer/finalists.h"

#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/graph.h"
#include "compiler/trial/backend_finalists.h"
#include "compiler/trial/part_runs.h"
#include "compiler/trial/run_model.h"
#include "runtime/execute.h"
#include "runtime/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace tg {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Times graphs by their number of operators. An infinite time means that the outputs differ.
class MadeUpRuns : public FinalistRunner {
public:
  std::map<size_t, double> times;
  std::map<size_t, double> at_length = {}; // of long runs, if they differ
  std::vector<size_t> screened;
  int compared = 0;
  bool noisy = false;

  Result<WholeRuns> compare(const Graph& first, const Graph& second) override {
    ++compared;
    auto time = [&](const Graph& graph) {
      auto it = at_length.find(graph.op_count());
      return it == at_length.end() ? times[graph.op_count()] : it->second;
    };
    double a = time(first), b = time(second);
    if (noisy) return WholeRuns{compare_times({a, b, a}, {b, a, b})};
    return WholeRuns{compare_times({a, a, a}, {b, b, b})};
  }
  Result<std::vector<ScreeningResult>> screen(const Graph&,
                                              llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<ScreeningResult> found;
    for (const Graph* graph : graphs) {
      screened.push_back(graph->op_count());
      double time = times[graph->op_count()];
      found.push_back({time, std::isfinite(time) ? "" : "gives a different output"});
    }
    return found;
  }
};

class MadeUpGroups : public GroupPricer {
public:
  std::map<size_t, double> prices;

  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<GroupPrice> found;
    for (const Graph* graph : graphs) found.push_back({prices[graph->op_count()], 1});
    return found;
  }
};

struct Finalists : testing::Test {
  SourceManager sources;
  DiagnosticSink sink;
  MadeUpRuns runs;
  MadeUpGroups groups; // without prices, the device launches single operators
  OptimizeReport report;
  double cost_us = 0;            // of the chosen graph
  std::string fault;             // of the chosen graph
  std::string alternative_costs; // chose the dearest candidate
  std::function<void(Candidate&)> complete;

  Graph load(std::string text) {
    FileId file = sources.add("test.tg", std::move(text));
    std::optional<Graph> graph = load_model(sources, file, {}, sink);
    EXPECT_TRUE(graph);
    return *graph;
  }
  /// A chain of the given number of operators.
  Graph chain(int operators) {
    std::string text = "model m(x: f32[4, 4]) -> (y: f32[4, 4]) {\n  var y = x\n";
    for (int i = 0; i < operators; ++i) text += i % 2 ? "  y = exp(y)\n" : "  y = tanh(y)\n";
    return load(text + "  y\n}\n");
  }
  Candidate candidate(int operators, double cost) { return {chain(operators), cost}; }
  size_t choose(size_t most) {
    std::vector<Candidate> others;
    others.push_back(candidate(4, 40));
    others.back().chosen_by = alternative_costs;
    if (alternative_costs.empty()) others.clear();
    others.push_back(candidate(3, 30));
    others.push_back(candidate(2, 20));
    others.push_back(candidate(1, 10));  // equal to the best
    others.push_back(candidate(5, 500)); // above the source
    FinalistOptions options{most, 100, groups.prices.empty() ? nullptr : &groups, complete};
    Finalist chosen = choose_finalist(chain(6), candidate(1, 10), std::move(others), runs, options,
                                      report, report.notes);
    fault = chosen.fault;
    cost_us = chosen.candidate.cost_us;
    EXPECT_EQ(chosen.is_cheapest, cost_us == 10);
    return chosen.candidate.graph.op_count();
  }
};

TEST_F(Finalists, TheFastestIsTakenThoughPricesSayOtherwise) {
  runs.times = {{1, 50}, {2, 60}, {3, 40}};
  EXPECT_EQ(choose(8), 3u);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 2, 3})) << "distinct, the cheapest first";
  EXPECT_EQ(report.finalists, 3u);
  EXPECT_EQ(cost_us, 30);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "of 3 finalists timed in whole runs, one priced 20.0 us above the "
                             "cheapest is faster, by 1.25x");
}

TEST_F(Finalists, TheCheapestStaysWithinTheNoise) {
  runs.times = {{1, 50}, {2, 60}, {3, 49}};
  runs.noisy = true;
  EXPECT_EQ(choose(8), 1u);
  EXPECT_EQ(runs.compared, 1);
  EXPECT_TRUE(report.notes.empty());
}

/// The fastest in brief runs may be no faster than the cheapest in long runs; the second may be.
TEST_F(Finalists, TwoFastestAreComparedWithCheapest) {
  runs.times = {{1, 50}, {2, 40}, {3, 42}};
  runs.at_length = {{2, 51}, {3, 40}};
  EXPECT_EQ(choose(8), 3u);
  EXPECT_EQ(runs.compared, 2);
  runs.at_length = {{2, 45}, {3, 40}};
  report.notes.clear();
  EXPECT_EQ(choose(8), 3u) << "each is compared with the fastest so far";
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("faster, by 1.25x"), std::string::npos) << report.notes[0];
}

TEST_F(Finalists, MeasureTheRequestedNumber) {
  runs.times = {{1, 50}, {2, 60}, {3, 40}};
  EXPECT_EQ(choose(2), 1u);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 2}));
}

TEST_F(Finalists, AlwaysMeasureTheChoiceOfTheOtherPrices) {
  runs.times = {{1, 50}, {2, 60}, {3, 55}, {4, 40}};
  alternative_costs = "analytic:cpu";
  EXPECT_EQ(choose(2), 4u);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 4}));
  EXPECT_EQ(report.notes[0], "of 2 finalists timed in whole runs, the one chosen by analytic:cpu "
                             "prices is faster, by 1.25x");
}

TEST_F(Finalists, SkipTheComparisonIfTheSourceIsTheCheapest) {
  runs.times = {{2, 40}, {6, 50}};
  std::vector<Candidate> others;
  others.push_back(candidate(2, 100));
  Finalist chosen = choose_finalist(chain(6), candidate(6, 100), std::move(others), runs,
                                    {.source_us = 100}, report, report.notes);
  EXPECT_EQ(chosen.candidate.graph.op_count(), 2u);
  EXPECT_EQ(runs.compared, 0);
}

/// If the device runs operators in one kernel, a completed candidate can be equal to the best.
TEST_F(Finalists, TheOthersAreCompletedAndThoseAlikeAreOne) {
  runs.times = {{1, 50}, {3, 60}, {4, 40}};
  complete = [&](Candidate& other) {
    if (other.graph.op_count() == 2) other = candidate(1, 10);
    if (other.graph.op_count() == 3) other = candidate(4, 5);
  };
  EXPECT_EQ(choose(8), 4u);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 4})) << "the best is unchanged";
  EXPECT_EQ(cost_us, 5);
  EXPECT_EQ(report.notes[0], "of 2 finalists timed in whole runs, one priced 5.0 us below the "
                             "cheapest is faster, by 1.25x");
}

/// Operators that become one kernel at load have a higher price one by one.
TEST_F(Finalists, AreSelectedByPricesOfGroups) {
  runs.times = {{1, 50}, {2, 60}, {3, 40}};
  groups.prices = {{1, 9}, {2, 8}, {3, 5}};
  EXPECT_EQ(choose(2), 3u);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 3})) << "the cheapest by operators in any case";
  EXPECT_EQ(
      report.notes[0],
      "whole runs are limited to the 2 cheapest of 3 candidates, by prices of groups of operators");
  runs.screened.clear();
  choose(8);
  EXPECT_EQ(runs.screened, (std::vector<size_t>{1, 2, 3})) << "all of them";
}

TEST_F(Finalists, ExcludeGraphsThatFailOrDiffer) {
  runs.times = {{1, kNever}, {2, 60}, {3, kNever}};
  EXPECT_EQ(choose(8), 2u);
  EXPECT_EQ(fault, "");
  EXPECT_EQ(
      report.notes[0],
      "the cheapest of 3 finalists gives a different output; the fastest of the others is used");
}

TEST_F(Finalists, NoneTakesTheSourcesPlaceWhereNonePasses) {
  runs.times = {{1, kNever}, {2, kNever}, {3, kNever}};
  EXPECT_EQ(choose(8), 1u);
  EXPECT_EQ(fault, "gives a different output");
  EXPECT_EQ(runs.compared, 0);
}

TEST_F(Finalists, ScreeningHoldsOutputsAgainstTheSource) {
  PrepareOptions options;
  options.backend = "ref";
  BackendFinalists finalists(options);
  Graph source = chain(2), same = chain(2), other = chain(3);
  auto screened = finalists.screen(source, {&same, &other}); // `same` is not built again
  ASSERT_TRUE(screened.ok());
  EXPECT_EQ((*screened)[0].fault, "");
  EXPECT_GT((*screened)[0].median_us, 0);
  EXPECT_NE((*screened)[1].fault.find("gives a different output `y`"), std::string::npos);
  EXPECT_NE((*screened)[1].fault.find("the tolerance is 0.0010)"), std::string::npos);
}

TEST_F(Finalists, ComparingHoldsOutputsAgainstTheFirst) {
  PrepareOptions options;
  options.backend = "ref";
  BackendFinalists finalists(options, {.runs = 2});
  Graph source = chain(2), same = chain(2), other = chain(3);
  auto equal = finalists.compare(source, same), different = finalists.compare(source, other);
  ASSERT_TRUE(equal.ok() && different.ok());
  EXPECT_EQ(equal->fault, "");
  EXPECT_EQ(equal->times.first.runs, 2u);
  EXPECT_EQ(different->fault.find("gives a different output `y` "), 0u) << different->fault;
}

/// A `relu` of negative values is zero: the comparison proves nothing.
TEST_F(Finalists, OutputsOfTheFirstThatAreAllZeroSayNothing) {
  PrepareOptions options;
  options.backend = "ref";
  Graph zero = load("model m(x: f32[4]) -> (y: f32[4]) { relu(-exp(x)) }\n");
  Graph other = load("model m(x: f32[4]) -> (y: f32[4]) { exp(x) }\n");
  auto runs = BackendFinalists(options).compare(zero, other);
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->fault.find("gives an output `y` that cannot be compared"), 0u) << runs->fault;
}

/// Outputs that are not finite cannot be compared. The choice is by time alone, and a note says so.
TEST_F(Finalists, OutputsOfTheFirstThatAreNotFiniteLeaveTheTime) {
  PrepareOptions options;
  options.backend = "ref";
  BackendFinalists finalists(options, {.runs = 2});
  Graph nan = load("model m(x: f32[4]) -> (y: f32[4]) { log(-exp(x)) }\n");
  Graph same = load("model m(x: f32[4]) -> (y: f32[4]) { log(-1.0 * exp(x)) }\n");
  Graph number = chain(2);
  auto runs = finalists.compare(nan, same);
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->fault, "");
  EXPECT_EQ(runs->times.first.runs, 2u);
  EXPECT_EQ(runs->note, "output `y` of the source is not finite on random inputs: there, graphs "
                        "are compared only by time");
  auto finite = finalists.compare(number, number);
  ASSERT_TRUE(finite.ok());
  EXPECT_EQ(finite->note, "");
}

/// The model gives a NaN itself and has outputs of several dtypes. The finite outputs are compared.
TEST_F(Finalists, ANaNInTheModelIsSaidAndOtherOutputsAreCompared) {
  PrepareOptions options;
  options.backend = "ref";
  BackendFinalists finalists(options, {.runs = 2});
  std::string head = "model m(x: f32[4, 8]) -> (y: f32[4, 8], i: i64[4], b: bool[4, 8]) {\n";
  Graph nan = load(head + "  (exp(x) * nan, argmax(x, axis = 1), x < 0.0)\n}\n");
  Graph same = load(head + "  (nan * exp(x), argmax(x + 1.0, axis = 1), 0.0 > x)\n}\n");
  Graph other = load(head + "  (exp(x) * nan, argmax(-x, axis = 1), x < 0.0)\n}\n");
  Graph opposite = load(head + "  (exp(x) * nan, argmax(x, axis = 1), x >= 0.0)\n}\n");
  auto runs = finalists.compare(nan, same);
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->fault, "");
  EXPECT_EQ(runs->note.find("output `y` of the source is not finite"), 0u) << runs->note;
  auto different = finalists.compare(nan, other), negated = finalists.compare(nan, opposite);
  ASSERT_TRUE(different.ok() && negated.ok());
  EXPECT_EQ(different->fault.find("gives a different output `i`"), 0u) << different->fault;
  EXPECT_EQ(negated->fault.find("gives a different output `b`"), 0u) << negated->fault;
}

#if defined(__SSE__)
/// They may make runs slower than the price predicts.
TEST_F(Finalists, DenormalNumbersInRunsOfTheFirstAreSaid) {
  // This needs the `cpu` backend: the reference backend computes in f64, where these numbers are
  // normal. A build without oneDNN (TG_ONEDNN=OFF) does not have that backend.
  PrepareOptions options;
  if (!make_backend(options.backend)) GTEST_SKIP() << "no cpu backend";
  BackendFinalists finalists(options, {.runs = 2});
  auto scaled = [&](const char* by) {
    return load("model m(x: f32[64, 64]) -> (y: f32[64, 64]) {\n  tanh(exp(x) * " +
                std::string(by) + ")\n}\n");
  };
  Graph tiny = scaled("full([], 1e-40)"), plain = scaled("full([], 1e-4)");
  auto slow = finalists.compare(tiny, tiny), fast = finalists.compare(plain, plain);
  ASSERT_TRUE(slow.ok() && fast.ok());
  EXPECT_EQ(slow->note,
            "denormal numbers occur in runs of the source on random inputs, in 2 "
            "operators, first in `mul` f32[64, 64]: runs may be slower than the prices");
  EXPECT_EQ(fast->note, "");
}
#endif

/// Kernels that may lose a NaN (oneDNN's) are run a second time. That time must not become the
/// price of the operator in other models, although the output does not show the second run.
TEST_F(Finalists, TimesOnNaNInPlaceAreNotKept) {
  PrepareOptions options;
  if (!make_backend(options.backend)) GTEST_SKIP() << "no cpu backend";
  BackendFinalists finalists(options);
  Graph nan = load("model m(x: f32[64, 64], w: f32[64, 64]) -> (y: bool[64, 64]) {\n"
                   "  matmul(log(-exp(x)), w, act = relu) < 0.0\n}\n");
  auto times = finalists.time_in_place(nan, nullptr);
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 1u);
  EXPECT_EQ(times->front().trust, TimeTrust::Passing);
  auto prepared = prepare_with_inputs(nan, options);
  ASSERT_TRUE(prepared.ok());
  ASSERT_TRUE(prepared->executable->run_once().ok());
  EXPECT_EQ(prepared->executable->repeated_runs(), 1u) << "else the machine alone may pass it";
}

/// An interrupted comparison reports nothing about the graphs.
TEST_F(Finalists, ReportTheReasonForAnEarlyEnd) {
  PrepareOptions options;
  options.backend = "ref";
  // Memory is not counted there (resident.cpp), so that no limit is ever reached.
  if (resident_bytes() == 0) GTEST_SKIP() << "memory is not counted under AddressSanitizer";
  options.stop = StopToken().holding(1); // bytes
  auto runs = BackendFinalists(options, {.runs = 2}).compare(chain(1), chain(2));
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, Code::limit_no_answer);
  EXPECT_EQ(runs.error().message, "the memory limit was reached");
}

TEST_F(Finalists, ComparingSaysWhichDoesNotRun) {
  PrepareOptions options;
  options.backend = "ref";
  options.memory_limit_bytes = 1 << 16;
  BackendFinalists finalists(options, {.runs = 2});
  Graph small = chain(1);
  Graph large = load("model m(x: f32[4, 4]) -> (y: f32[4, 4]) {\n  param a: f32[4, 40000]\n"
                     "  param b: f32[40000, 4]\n  x @ a @ b @ x\n}\n");
  auto runs = finalists.compare(small, large);
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->fault.find("does not run: "), 0u) << runs->fault;
  EXPECT_FALSE(finalists.compare(large, small).ok());
}

TEST_F(Finalists, InstancesRunSideBySide) {
  PrepareOptions options;
  options.backend = "ref";
  auto one = prepare_with_inputs(chain(2), options), two = prepare_with_inputs(chain(2), options);
  ASSERT_TRUE(one.ok() && two.ok());
  std::vector<Executable*> instances = {one->executable.get(), two->executable.get()};
  auto timing = time_concurrently(instances, {.runs = 4, .warmup = 1});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->runs, 4u);
  auto a = one->executable->outputs(), b = two->executable->outputs();
  EXPECT_EQ(max_rel_diff((*a)[0], (*b)[0]), 0);
}

// --- networks that are run in parts --------------------------------------------------------------

/// The given number of equal layers between two that differ.
struct InParts : testing::Test {
  SourceManager sources;
  DiagnosticSink sink;

  Graph layers(int count, const char* act) {
    std::string text = "model m(x: f32[4, 64]) -> (y: f32[4, 32]) {\n  param first: f32[64, 128]\n"
                       "  let x0 = tanh(x @ first)\n";
    for (int i = 0; i < count; ++i)
      text += llvm::formatv("  param u{0}: f32[128, 256]\n  param v{0}: f32[256, 128]\n"
                            "  let h{0} = {2}(x{0} @ u{0})\n  let g{0} = sigmoid(h{0}) * h{0}\n"
                            "  let f{0} = exp(tanh(g{0})) + g{0}\n"
                            "  let x{1} = x{0} + tanh(sigmoid(f{0}) @ v{0})\n",
                            i, i + 1, act);
    text += "  param last: f32[128, 32]\n  relu(x" + std::to_string(count) + " @ last)\n}\n";
    std::optional<Graph> graph = load_model(sources, sources.add("m.tg", text), {}, sink);
    for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
    return *graph;
  }
  static int64_t bytes_of(const Graph& graph) {
    return resident_bytes(plan_from_graph(graph)).total();
  }
};

/// Compares the outputs of a run in parts with those of a run of the whole graph.
void expect_equal_outputs(const Graph& graph, const PrepareOptions& options, double bound) {
  Result<std::unique_ptr<LoadedGraph>> parts = load_parts(graph, options);
  ASSERT_TRUE(parts) << parts.error().message;
  Result<Prepared> whole = prepare_with_inputs(graph, options);
  ASSERT_TRUE(whole && whole->executable->run_once());
  std::vector<Tensor> expected = *whole->executable->outputs();
  ASSERT_EQ((*parts)->outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& output = (*parts)->outputs[i];
    EXPECT_EQ(output.type(), expected[i].type()) << i;
    EXPECT_LE(max_rel_diff(output, expected[i]), bound) << i;
  }
  size_t count = 0;
  for (const LoadedGraph::Part& part : (*parts)->parts) count += part.count;
  EXPECT_EQ(count, (*parts)->all_parts);
}

TEST_F(InParts, EqualOnesAreLoadedOnceAndCountAsOftenAsTheyOccur) {
  Graph graph = layers(32, "relu");
  PrepareOptions options;
  options.threads = 1;
  std::set<std::string> read;
  options.weights = [&](const PlanValue& value) {
    read.insert(value.name);
    return random_weight(value.name, value.type, value.init, 1);
  };
  Result<std::unique_ptr<LoadedGraph>> parted = load_parts(graph, options);
  ASSERT_TRUE(parted) << parted.error().message;
  LoadedGraph& loaded = **parted;
  int64_t bytes = 0;
  for (const LoadedGraph::Part& part : loaded.parts)
    bytes += part.prepared.executable->memory().weights;
  EXPECT_LT(loaded.parts.size(), loaded.all_parts) << "layers are equal";
  EXPECT_LT(bytes, bytes_of(graph) / 2);
  EXPECT_EQ(read.size(), 2 + 2 * 32u) << "each layer has run with its own weights";
  auto timed = [&] { return loaded.timed_run(); };
  Result<Comparison> times = time_interleaved(timed, timed, {.min_runs = 3, .seconds = 0});
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->cut);
  EXPECT_EQ(times->first.runs, 3u);
  EXPECT_GT(times->first_us, 0);
}

TEST_F(InParts, OutputsAreThoseOfTheWhole) {
  PrepareOptions options;
  options.threads = 1;
  for (const char* backend : {"ref", "cpu"}) {
    options.backend = backend;
    if (!make_backend(backend)) continue;
    SCOPED_TRACE(backend);
    expect_equal_outputs(layers(12, "relu"), options, 1e-5);
  }
}

/// Outputs that are inputs, weights, or computed from weights alone; integers; values that cross
/// several cuts; weights with different distributions; runs in a dtype other than the model's.
TEST_F(InParts, OutputsOfAllKindsAreThoseOfTheWhole) {
  std::string text =
      "model m(ids: i32[6], x: f32[6, 16], unused: f32[3])\n"
      "    -> (y: f32[6, 16], same: f32[6, 16], known: f32[16, 16],\n"
      "        own: f32[16, 16], again: f32[6, 16], at: i32[6], b: bool[6, 16]) {\n"
      "  param table: f32[40, 16] (init = ones)\n  param w: f32[16, 16] (init = normal(0.5))\n"
      "  let x0 = gather(table, ids, axis = 0) + x\n";
  for (int i = 0; i < 40; ++i)
    text += llvm::formatv("  let h{0} = sigmoid(x{0} @ w) * x0\n  let x{1} = tanh(h{0}) + x{0}\n",
                          i, i + 1);
  text += "  (x40, x, w @ w, w, x40, ids, x20 < x40)\n}\n";
  std::optional<Graph> graph = load_model(sources, sources.add("m.tg", text), {}, sink);
  for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
  ASSERT_TRUE(graph);
  PrepareOptions options;
  options.backend = "ref";
  expect_equal_outputs(*graph, options, 0);
  options.backend = "cpu";
  if (!make_backend(options.backend)) GTEST_SKIP() << "no cpu backend";
  expect_equal_outputs(*graph, options, 1e-5);
}

TEST_F(InParts, AreComparedWhereMemoryIsShort) {
  Graph source = layers(16, "relu"), same = layers(16, "relu"), other = layers(16, "tanh");
  for (bool large : {false, true}) {
    PrepareOptions options;
    options.threads = 1;
    if (!make_backend(options.backend)) GTEST_SKIP() << "no cpu backend";
    options.memory_limit_bytes = bytes_of(source) * (large ? 4 : 100);
    BackendFinalists runner(options, {.min_runs = 3, .seconds = 0});
    Result<WholeRuns> runs = runner.compare(source, same), wrong = runner.compare(source, other);
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_TRUE(wrong) << wrong.error().message;
    bool said = runs->note.find("sums over parts") != std::string::npos;
    EXPECT_EQ(said, large) << runs->note;
    EXPECT_EQ(runs->in_parts, large);
    EXPECT_EQ(runs->fault, "");
    EXPECT_NE(wrong->fault.find("gives a different output `y`"), std::string::npos) << wrong->fault;
    Result<std::vector<ScreeningResult>> screened = runner.screen(source, {&same, &other});
    ASSERT_TRUE(screened) << screened.error().message;
    EXPECT_EQ((*screened)[0].fault, "");
    EXPECT_GT((*screened)[0].median_us, 0);
    EXPECT_EQ((*screened)[1].fault, wrong->fault);
    auto placed = runner.time_in_place(source, nullptr);
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->empty(), large) << "the source is not loaded";
  }
}

} // namespace
} // namespace tg
