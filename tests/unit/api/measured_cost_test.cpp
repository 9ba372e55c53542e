// Tests the measured cost model over the reference backend: an instance that was timed once is not
// timed again, in this process or the next.
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/extract.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/pricing/measured_cost.h"
#include "runtime/ref/backend.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Process.h>

namespace tg {
namespace {

/// Reports a fixed state of the machine, so that no clock affects a test.
class GivenWatch final : public MachineWatch {
public:
  explicit GivenWatch(bool quiet) : quiet_(quiet) {}
  Disturbance disturbance() override { return quiet_ ? Disturbance::None : Disturbance::Slight; }
  double usual_us() const override { return 30; }

private:
  bool quiet_;
};

class MeasuredCostTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-measured", folder_));
    x = graph.input("x", f32({4, 8}));
    NodeId w = graph.weight("w", f32({8, 8}));
    product = graph.add(OpKind::Matmul, {graph.symbols().value(Value::of_enum("none"))},
                        {x, w, graph.none(), graph.none()});
    graph.add_output("y", graph.add(OpKind::Add, {}, {product, graph.add(OpKind::Tanh, {}, {x})}));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }

  MeasuredCostOptions options(int threads = 1) const {
    MeasuredCostOptions options;
    options.cost_db = folder_.str().str() + "/costs.db";
    options.threads = threads;
    options.network_bytes = network_bytes(graph);
    options.repeat_within = std::numeric_limits<double>::infinity();
    options.watch = std::make_shared<GivenWatch>(true);
    return options;
  }
  MeasuredCost disturbed_model() const {
    MeasuredCostOptions busy = options();
    busy.watch = std::make_shared<GivenWatch>(false);
    return {make_ref_backend(), busy};
  }
  MeasuredCost model(int threads = 1) const { return {make_ref_backend(), options(threads)}; }

  Graph graph{std::make_shared<Symbols>(), "m"};
  NodeId x, product;

private:
  llvm::SmallString<128> folder_;
};

TEST_F(MeasuredCostTest, TimesEachOperatorOnce) {
  double first = 0;
  {
    MeasuredCost costs = model();
    EXPECT_EQ(costs.name(), "measured:ref");
    PriceCache prices(graph.symbols(), costs);
    first = price_graph(graph, prices);
    EXPECT_GT(first, 0);
    EXPECT_EQ(costs.timed(), 3u);
    EXPECT_TRUE(costs.notes().empty()) << costs.notes().front();
    EXPECT_EQ(price_graph(graph, prices), first);
    EXPECT_EQ(costs.timed(), 3u);
  }
  MeasuredCost again = model();
  PriceCache prices(graph.symbols(), again);
  EXPECT_EQ(price_graph(graph, prices), first);
  EXPECT_EQ(again.timed(), 0u);
  EXPECT_EQ(again.yardstick_us(), 30) << "the best time of the yardstick is stored, too";
  MeasuredCost other = model(2);
  PriceCache other_prices(graph.symbols(), other);
  price_graph(graph, other_prices);
  EXPECT_EQ(other.timed(), 3u) << "another number of threads is another machine";
}

TEST_F(MeasuredCostTest, TimesOperatorsAgainThatWereTimedOnABusyMachine) {
  {
    MeasuredCost costs = disturbed_model();
    PriceCache prices(graph.symbols(), costs);
    double first = price_graph(graph, prices);
    EXPECT_EQ(costs.unsettled(), 3u);
    PriceCache again(graph.symbols(), costs);
    EXPECT_EQ(price_graph(graph, again), first) << "as long as the model lives";
    EXPECT_EQ(costs.timed(), 3u);
    ASSERT_EQ(costs.notes().size(), 1u);
    EXPECT_NE(costs.notes()[0].find("3 of 3 prices were measured while other programs ran"),
              std::string::npos)
        << costs.notes()[0];
  }
  {
    MeasuredCost costs = model();
    PriceCache prices(graph.symbols(), costs);
    price_graph(graph, prices);
    EXPECT_EQ(costs.timed(), 3u);
    EXPECT_EQ(costs.unsettled(), 0u);
  }
  MeasuredCost costs = disturbed_model();
  PriceCache prices(graph.symbols(), costs);
  price_graph(graph, prices);
  EXPECT_EQ(costs.timed(), 0u) << "steady prices are kept";
  EXPECT_TRUE(costs.notes().empty());
}

/// The reference backend, except that a transpose is a view.
class TransposesInPlace final : public Backend {
public:
  std::string name() const override { return "ref"; }
  std::string description() const override { return ref_->description(); }
  bool supports(const Plan& plan, const PlanStep& step) const override {
    return ref_->supports(plan, step);
  }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    return ref_->compile(plan, options);
  }
  bool is_view(OpKind op, const TensorType&) const override { return op == OpKind::Transpose; }

private:
  std::unique_ptr<Backend> ref_ = make_ref_backend();
};

TEST_F(MeasuredCostTest, ViewsAreNotTimedAndCostNothing) {
  MeasuredCost costs(std::make_unique<TransposesInPlace>(), options());
  PriceCache prices(graph.symbols(), costs);
  double without = price_graph(graph, prices);
  ValueId exchanged = graph.symbols().value(Value::of_ints({1, 0}));
  graph.add_output("t", graph.add(OpKind::Transpose, {exchanged}, {product}));
  EXPECT_EQ(price_graph(graph, prices), without);
  EXPECT_EQ(costs.timed(), 3u) << "the product, tanh and the sum";
}

TEST_F(MeasuredCostTest, ReportsOperatorsThatCannotBeTimed) {
  MeasuredCostOptions options;
  options.cost_db = "/proc/no/such/place.db";
  options.memory_limit_bytes = 1; // nothing fits
  MeasuredCost costs(make_ref_backend(), options);
  PriceCache prices(graph.symbols(), costs);
  EXPECT_EQ(price_graph(graph, prices), std::numeric_limits<double>::infinity());
  ASSERT_EQ(costs.notes().size(), 2u) << "the database, and the operators";
  EXPECT_NE(costs.notes()[1].find("3 operator instances cannot be timed"), std::string::npos)
      << costs.notes()[1];
}

/// Returns this process's resident memory in MiB.
int64_t resident_mb() {
  auto text = llvm::MemoryBuffer::getFileAsStream("/proc/self/statm");
  int64_t pages = 0;
  if (!text || (*text)->getBuffer().split(' ').second.split(' ').first.getAsInteger(10, pages))
    return 0;
  return pages * static_cast<int64_t>(llvm::sys::Process::getPageSizeEstimate()) >> 20;
}

TEST_F(MeasuredCostTest, TimingKeepsNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the allocators of sanitizers keep freed memory";
#endif
  // Operands of different sizes: a freed buffer fits few of the others.
  Graph wide(std::make_shared<Symbols>(), "wide");
  for (int64_t i = 1; i <= 12; ++i) {
    NodeId input = wide.input("x" + std::to_string(i), f32({i * 5 % 12 + 1, 1 << 17}));
    wide.add_output("y" + std::to_string(i), wide.add(OpKind::Relu, {}, {input}));
  }
  MeasuredCost costs = model();
  PriceCache prices(wide.symbols(), costs);
  int64_t before = resident_mb();
  EXPECT_GT(price_graph(wide, prices), 0);
  EXPECT_EQ(costs.timed(), 12u);
  EXPECT_LT(resident_mb() - before, 8);
}

TEST_F(MeasuredCostTest, StepsTakeTheirBufferAsPlansDo) {
  const Symbols& symbols = graph.symbols();
  TypeId t = graph.node(x).type, none = symbols.none_type();
  TypeId w = graph.symbols().type(f32({8, 8}));
  auto in_place = [&](OpKind op, AttrsId attrs, std::vector<TypeId> operands, uint32_t weights) {
    return step_spec(symbols, {op, attrs, operands, t, weights}).in_place;
  };
  AttrsId no_act = graph.node(product).attrs;
  EXPECT_EQ(in_place(OpKind::Add, symbols.no_attrs(), {t, t}, 0), 0);
  EXPECT_EQ(in_place(OpKind::Add, symbols.no_attrs(), {t, t}, 0b01), 1) << "a weight stays";
  EXPECT_EQ(in_place(OpKind::Matmul, no_act, {t, w, none, none}, 0b1110), -1);
  EXPECT_EQ(in_place(OpKind::Matmul, no_act, {t, w, none, t}, 0b0110), 3) << "the residual";
}

TEST(NetworkBytes, CountWeightsAndResultsOnce) {
  Graph graph(std::make_shared<Symbols>());
  NodeId x = graph.input("x", f32({8}));
  NodeId w = graph.add(OpKind::Neg, {}, {graph.weight("w", f32({8}))}); // at load: not counted
  NodeId y = graph.add(OpKind::Add, {}, {x, w});
  graph.add_output("y", graph.add(OpKind::Mul, {}, {y, y}));
  EXPECT_EQ(network_bytes(graph), 4 * 8 * (1 + 1 + 1 + 1)); // x, the weight, sum, product
}

TEST(CostSpec, NamesTheBackendThatRunsWholeGraphs) {
  using tangram::Backend;
  EXPECT_EQ(backend_of_costs(CostSpec::measured(Backend::Cuda)), Backend::Cuda);
  for (const char* spec : {"measured", "measured:cpu", "analytic:a100", "file:cuda"})
    EXPECT_EQ(backend_of_costs(*CostSpec::from_text(spec)), Backend::Cpu) << spec;
  for (const char* backend : {"cuda", "cpu"})
    EXPECT_TRUE(make_analytic_cost(profile_of_backend(backend)).ok()) << backend;
}

} // namespace
} // namespace tg
