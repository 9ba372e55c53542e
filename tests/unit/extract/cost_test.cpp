// Tests instance keys, the analytic cost model, and cost tables in files.
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost_table.h"

#include "lang/core/shape_rules.h"

#include <gtest/gtest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <deque>

namespace tg {
namespace {

/// Creates instances, and keeps their operand types alive.
class Instances {
public:
  Symbols symbols;

  OpInstance make(OpKind op, std::vector<Value> attrs, std::vector<TensorType> types,
                  uint32_t weights = 0) {
    llvm::SmallVector<ValueId, 4> values;
    for (const Value& v : attrs) values.push_back(symbols.value(v));
    std::vector<TypeId>& operands = kept_.emplace_back();
    for (const TensorType& t : types) operands.push_back(symbols.type(t));
    OpInstance instance{op, {}, {}, {}, weights};
    std::string why;
    EXPECT_TRUE(infer(symbols, op, values, operands, instance.result, &why)) << why;
    instance.attrs = symbols.attrs(values);
    instance.operands = operands;
    return instance;
  }

  OpInstance conv(int64_t channels, int64_t size, int64_t out, int64_t kernel, int64_t groups = 1) {
    return make(OpKind::Conv2d,
                {Value::of_ints({1, 1}), Value::of_enum("same"), Value::of_ints({1, 1}),
                 Value::of_enum("none")},
                {f32({1, channels, size, size}), f32({out, channels / groups, kernel, kernel}),
                 TensorType{}, TensorType{}},
                0b10);
  }

private:
  std::deque<std::vector<TypeId>> kept_;
};

TEST(InstanceKey, SpellsTypesWeightsAndAttributes) {
  Instances make;
  EXPECT_EQ(instance_key(make.symbols, make.conv(64, 56, 64, 3)),
            "conv2d(f32[1, 64, 56, 56], w f32[64, 64, 3, 3], none, none) "
            "{stride = [1, 1], pad = same, dilation = [1, 1], act = none}");
  EXPECT_EQ(instance_key(make.symbols, make.make(OpKind::Relu, {}, {f32({8})})), "relu(f32[8])");
}

TEST(Analytic, TakesTheLongerOfArithmeticAndTraffic) {
  Instances make;
  const DeviceProfile& t4 = *find_device_profile("t4");
  AnalyticCost cost(t4);
  // 2 * 4096^3 operations, bound by arithmetic, at three quarters of 8.141 TFLOPS.
  OpInstance big = make.make(OpKind::Matmul, {Value::of_enum("none")},
                             {f32({4096, 4096}), f32({4096, 4096}), TensorType{}, TensorType{}});
  EXPECT_NEAR(cost.price(make.symbols, big), 2 * std::pow(4096.0, 3) / (8.141e6 * 0.75) + 5, 1e-6);
  // 128 MB in, 128 MB out: bound by memory traffic.
  OpInstance wide = make.make(OpKind::Relu, {}, {f32({1 << 25})});
  EXPECT_NEAR(cost.price(make.symbols, wide), 2 * std::pow(2.0, 27) / (320e3 * 0.85) + 5, 1e-6);
  // Only the launch.
  EXPECT_NEAR(cost.price(make.symbols, make.make(OpKind::Relu, {}, {f32({1})})), 5, 1e-3);
}

TEST(Analytic, ViewsAndContiguousSlicesAreFree) {
  Instances make;
  AnalyticCost cost(*find_device_profile("cpu"));
  auto slice = [&](int64_t axis) {
    return make.make(OpKind::Slice, {Value::of_int(axis), Value::of_int(0), Value::of_int(2)},
                     {f32({4, 4})});
  };
  EXPECT_EQ(cost.price(make.symbols, slice(0)), 0);
  EXPECT_GT(cost.price(make.symbols, slice(1)), 0);
  EXPECT_EQ(
      cost.price(make.symbols, make.make(OpKind::Reshape, {Value::of_ints({16})}, {f32({4, 4})})),
      0);
}

TEST(Analytic, FusionIsCheaperThanItsParts) {
  Instances make;
  for (const DeviceProfile& device : device_profiles()) {
    AnalyticCost cost(device);
    TensorType t = f32({64, 1024});
    double parts = cost.price(make.symbols, make.make(OpKind::Mul, {}, {t, t})) +
                   cost.price(make.symbols, make.make(OpKind::Tanh, {}, {t}));
    double fused = cost.price(
        make.symbols, make.make(OpKind::FusedMap, {Value::of_string("tanh(mul($0, $1))")}, {t, t}));
    EXPECT_LT(fused, parts) << device.name.str();
  }
}

TEST(Analytic, AConvolutionOfManyGroupsIsFarFromPeak) {
  Instances make;
  AnalyticCost cost(*find_device_profile("a100"));
  double dense = cost.price(make.symbols, make.conv(1024, 14, 1024, 3)) - 4;
  double grouped = cost.price(make.symbols, make.conv(1024, 14, 1024, 3, 256)) - 4;
  EXPECT_GT(grouped, dense / 256);
}

TEST(Analytic, AnUnknownProfileIsAnErrorThatNamesTheOthers) {
  auto cost = make_analytic_cost("a10");
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, Code::usage);
  EXPECT_EQ(cost.error().notes.front(), "the profiles are cpu, t4, a100, h200");
  EXPECT_EQ(cost.error().help, "did you mean `analytic:a100`?");
  EXPECT_EQ((*make_analytic_cost(""))->name(), "analytic:cpu");
}

TEST(PriceCache, AsksTheModelOnceForEachInstance) {
  struct Counting : CostModel {
    int asked = 0;
    std::string name() const override { return "counting"; }
    double price(const Symbols&, const OpInstance&) override { return ++asked; }
  } model;
  Instances make;
  PriceCache cache(make.symbols, model);
  EXPECT_EQ(cache.price(make.conv(8, 8, 8, 3)), 1);
  EXPECT_EQ(cache.price(make.conv(8, 8, 8, 1)), 2);
  EXPECT_EQ(cache.price(make.conv(8, 8, 8, 3)), 1);
  EXPECT_EQ(model.asked, 2);
  EXPECT_EQ(cache.size(), 2u);
}

std::string temporary_path(llvm::StringRef stem) {
  llvm::SmallString<128> path;
  int fd = -1;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile(stem, "json", fd, path));
  llvm::raw_fd_ostream(fd, true) << "";
  return path.str().str();
}

TEST(CostTable, SurvivesTheFile) {
  CostTable table;
  table.source = "a \"quoted\" place";
  table.microseconds = {{"relu(f32[8])", 0.1},
                        {"fused_map(f32[8]) {body = \"tanh($0)\"}", 1e-7},
                        {"add(f32[8], f32[8])", 3}};
  std::string path = temporary_path("costs");
  ASSERT_TRUE(save_cost_table(table, path));
  auto back = load_cost_table(path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->source, table.source);
  EXPECT_EQ(back->microseconds, table.microseconds);
  (void)llvm::sys::fs::remove(path);
}

TEST(CostTable, ErrorsAreClear) {
  auto message = [](llvm::StringRef text) {
    auto table = parse_cost_table(text, "t.json");
    return table ? "" : table.error().message;
  };
  std::string head = "{\"tangram_costs\": 1, \"microseconds\": {";
  EXPECT_EQ(message(head + "\"a\": 1}}"), "");
  EXPECT_EQ(message(head + "\"a\": 1,\n\"a\": 2}}"), "t.json:2: `a` has two prices");
  EXPECT_EQ(message(head + "\"a\": -1}}"),
            "t.json:1: the price of `a` is not a finite number >= 0");
  EXPECT_EQ(message(head + "\"a\": 1e999}}"),
            "t.json:1: the price of `a` is not a finite number >= 0");
  EXPECT_EQ(message(head + "\"a\": nan}}"), "t.json:1: expected a number");
  EXPECT_EQ(message(head + "\"a\": 1"), "t.json:1: expected `,` or `}`");
  EXPECT_EQ(message(head + "\"a\": 1}} x"), "t.json:1: text after the end of the table");
  EXPECT_EQ(message(head + "\"a"), "t.json:1: a string that is never closed");
  EXPECT_EQ(message("{\"tangram_costs\": 2}"),
            "t.json:1: this is version 2.0 of the format; version 1 is required");
  EXPECT_EQ(message("{\"microseconds\": {}}"), "t.json:1: the field `tangram_costs` is missing");
  EXPECT_EQ(message("{\"tangram_costs\": 1}"), "t.json:1: the field `microseconds` is missing");
  EXPECT_EQ(message("{\"surprise\": 1}"), "t.json:1: unknown field `surprise`");
  EXPECT_EQ(message(std::string(1'000'000, '[')), "t.json:1: expected `{`");
  EXPECT_EQ(message(std::string(1'000'000, '{')), "t.json:1: expected a string");
}

TEST(CostTable, EveryTruncationIsAnError) {
  std::string whole =
      "{ \"tangram_costs\": 1, \"source\": \"x\", \"microseconds\": {\"a\": 1.5 } }";
  ASSERT_TRUE(parse_cost_table(whole, "t"));
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(parse_cost_table(llvm::StringRef(whole).take_front(n), "t")) << n;
}

TEST(CostTable, FilesThatCannotBeReadSaySo) {
  EXPECT_EQ(load_cost_table("/no/such/table.json").error().code, Code::cannot_read);
  EXPECT_EQ(load_cost_table("/").error().code, Code::cannot_read);
  std::string path = temporary_path("empty");
  EXPECT_EQ(load_cost_table(path).error().code, Code::empty_file);
  (void)llvm::sys::fs::remove(path);
  EXPECT_EQ(save_cost_table({}, "/no/such/folder/t.json").error().code, Code::cannot_write);
}

TEST(TableCost, PricesMissingInstancesAsInfiniteAndListsThem) {
  Instances make;
  TableCost cost({"", {{"relu(f32[8])", 2}}}, "file:t");
  EXPECT_EQ(cost.price(make.symbols, make.make(OpKind::Relu, {}, {f32({8})})), 2);
  OpInstance other = make.make(OpKind::Tanh, {}, {f32({8})});
  EXPECT_TRUE(std::isinf(cost.price(make.symbols, other)));
  EXPECT_TRUE(std::isinf(cost.price(make.symbols, other)));
  EXPECT_EQ(cost.missing(), std::vector<std::string>{"tanh(f32[8])"});
}

TEST(RecordingCost, RecordsATableThatGivesTheSamePrices) {
  Instances make;
  auto inner = make_analytic_cost("cpu");
  ASSERT_TRUE(inner);
  RecordingCost recording(**inner);
  OpInstance conv = make.conv(64, 56, 64, 3);
  double price = recording.price(make.symbols, conv);
  TableCost table(recording.table(), "file:t");
  EXPECT_EQ(table.price(make.symbols, conv), price);
}

} // namespace
} // namespace tg
