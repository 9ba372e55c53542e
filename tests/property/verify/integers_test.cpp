// Tests the integer laws by which the check of two models rewrites (verify/integers.h).
// Random expressions keep their values, also at the ends of ranges; bounds hold;
// pairs that are equal by such laws are decided; and pairs that are almost equal
// are not called equal.
#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/integers.h"
#include "lang/core/support/random.h"
#include "tests/property/verify/small_model.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

namespace tg {
namespace {

using test::model;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

/// Random expressions over two inputs of one dtype, with the idioms of files:
/// guards of divisors, indices from the end, remainders of remainders.
class RandomIntegers {
public:
  explicit RandomIntegers(uint64_t seed) : random_(seed, "integers") {
    dtype_ = pick(2) ? DType::I64 : DType::I32;
    const WholeRange ranges[] = {{-128, 127}, {0, 255}, {0, 0}, {-7, 3}, range_of_dtype(dtype_)};
    for (const char* name : {"x", "y"}) {
      Shape shape = pick(2) ? Shape{3} : Shape{2, 3};
      joined.ranges[name] = ranges[pick(std::size(ranges))];
      nodes_.push_back(joined.graph.input(name, {dtype_, shape}));
    }
    for (int i = 0; i < 24; ++i) add();
    joined.a = {any(false)}, joined.b = {any(false)}, joined.names = {"y"};
  }

  Joined joined{Graph(std::make_shared<Symbols>(), "random"), {}, {}, {}};

  size_t pick(size_t n) { return static_cast<size_t>(random_.bits(at_++) >> 8) % n; }
  /// Returns an element of an input, often at an end of its range.
  int64_t element(const WholeRange& range) {
    const int64_t ends[] = {range.low, range.high, range.low / 2, range.high / 2, 0, 1, -1, 8, 255};
    int64_t x = ends[pick(std::size(ends))];
    if (pick(3) == 0) x = static_cast<int64_t>(random_.bits(at_++));
    if (range.low <= x && x <= range.high) return x;
    uint64_t size = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low) + 1;
    return size == 0 ? x
                     : static_cast<int64_t>(static_cast<uint64_t>(range.low) +
                                            static_cast<uint64_t>(x) % size);
  }

private:
  NodeId any(bool of_bools) {
    for (size_t tries = 0; tries < 64; ++tries) {
      NodeId id = nodes_[nodes_.size() - 1 - pick(std::min<size_t>(nodes_.size(), 9))];
      if ((joined.graph.type(id).dtype == DType::Bool) == of_bools) return id;
    }
    return of_bools ? op(OpKind::Less, {nodes_[0], number(0)}) : nodes_[pick(2)];
  }
  NodeId number(int64_t x) {
    return joined.graph.whole_constant({dtype_ == DType::I32 ? static_cast<int32_t>(x) : x},
                                       {dtype_, {}});
  }
  NodeId small() {
    const int64_t numbers[] = {0, 1, -1, 2, 3, 7, 8, 127, 128, 255, 256, 65536, -8, kLeast};
    return number(numbers[pick(std::size(numbers))]);
  }
  NodeId op(OpKind kind, llvm::ArrayRef<NodeId> operands, llvm::ArrayRef<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 2> ids;
    for (const Value& value : attrs) ids.push_back(joined.graph.symbols().value(value));
    return joined.graph.add(kind, ids, operands);
  }
  void keep(NodeId id) {
    if (id.valid()) nodes_.push_back(id);
  }

  // NOLINTNEXTLINE(readability-function-size): a flat switch, a form a row.
  void add() {
    NodeId x = any(false), y = pick(2) ? any(false) : small(), c = any(true);
    constexpr OpKind kTwo[] = {OpKind::Add, OpKind::Sub, OpKind::Mul,     OpKind::Div,
                               OpKind::Mod, OpKind::Mod, OpKind::Maximum, OpKind::Minimum};
    constexpr OpKind kCompare[] = {OpKind::Less,         OpKind::LessEqual, OpKind::Greater,
                                   OpKind::GreaterEqual, OpKind::Equal,     OpKind::NotEqual};
    constexpr OpKind kOne[] = {OpKind::Neg, OpKind::Abs, OpKind::Relu, OpKind::Sign};
    switch (pick(10)) {
    case 0: return keep(op(kOne[pick(std::size(kOne))], {x}));
    case 1:
    case 2: return keep(op(kTwo[pick(std::size(kTwo))], {x, y}));
    case 3: return keep(op(kCompare[pick(std::size(kCompare))], {x, y}));
    case 4: {
      NodeId d = any(true);
      constexpr OpKind kLogical[] = {OpKind::LogicalAnd, OpKind::LogicalOr, OpKind::Equal,
                                     OpKind::NotEqual};
      size_t kind = pick(5);
      return keep(kind == 4 ? op(OpKind::LogicalNot, {c}) : op(kLogical[kind], {c, d}));
    }
    case 5: return keep(op(OpKind::Select, {c, x, y}));
    case 6: { // select(x == n or x == m, y, ..x..)
      NodeId n = small(), m = small();
      NodeId either = op(OpKind::LogicalOr, {op(OpKind::Equal, {x, n}), op(OpKind::Equal, {x, m})});
      NodeId guarded = op(OpKind::Select, {either, number(1), x});
      NodeId z = any(false);
      NodeId quotient =
          guarded.valid() ? op(pick(2) ? OpKind::Div : OpKind::Mod, {z, guarded}) : NodeId{};
      return keep(quotient);
    }
    case 7: { // an index from the end
      NodeId below = op(OpKind::Less, {x, number(0)});
      return keep(op(OpKind::Select, {below, op(OpKind::Add, {x, small()}), x}));
    }
    case 8: { // from a table
      NodeId table = joined.graph.whole_constant({1, 2, 4, 8, 16, 32, 64, 128}, {dtype_, {8}});
      return keep(op(OpKind::Gather, {table, x}, {Value::of_int(0)}));
    }
    default: { // through the dtype of the other width
      DType other = dtype_ == DType::I64 ? DType::I32 : DType::I64;
      NodeId there = op(OpKind::Cast, {x}, {Value::of_enum(dtype_name(other))});
      return keep(op(OpKind::Cast, {there}, {Value::of_enum(dtype_name(dtype_))}));
    }
    }
  }

  RandomStream random_;
  uint64_t at_ = 0;
  DType dtype_;
  std::vector<NodeId> nodes_;
};

TypedRun run(const Graph& graph, const std::map<std::string, std::vector<Integer>>& inputs,
             llvm::ArrayRef<NodeId> wanted) {
  auto leaves = [&](const Graph& of, NodeId id) {
    return TypedValues{{}, inputs.at(of.attr(id, 0).text)};
  };
  return evaluate_typed(graph, leaves, wanted, Rounding::None);
}

TEST(Integers, KeepTheirValues) {
  const size_t rounds = std::getenv("TANGRAM_FULL_TESTS") ? 200000 : 4000;
  size_t rewritten = 0;
  for (uint64_t seed = 1; seed <= rounds; ++seed) {
    RandomIntegers random(seed);
    const Joined& joined = random.joined;
    std::optional<Joined> simple = with_simple_integers(joined);
    rewritten += simple.has_value();
    WholeRanges ranges(joined.graph, &joined.ranges);
    llvm::SmallVector<NodeId, 40> all;
    for (uint32_t i = 0; i < joined.graph.size(); ++i)
      if (!op_info(joined.graph.node({i}).op).has(Trait::Leaf)) all.push_back({i});
    for (int draw = 0; draw < 6; ++draw) {
      std::map<std::string, std::vector<Integer>> inputs;
      for (NodeId input : joined.graph.inputs()) {
        std::vector<Integer>& values = inputs[joined.graph.attr(input, 0).text];
        for (int64_t i = 0; i < joined.graph.type(input).elements(); ++i)
          values.emplace_back(
              random.element(joined.ranges.lookup(joined.graph.attr(input, 0).text)));
      }
      TypedRun values = run(joined.graph, inputs, all);
      for (size_t i = 0; i < all.size(); ++i)
        for (Integer x : values.wanted[i].wholes) {
          WholeRange range = ranges.of(all[i]);
          ASSERT_TRUE(range.low <= x.value && x.value <= range.high)
              << seed << ": " << x.value << " is not from " << range.low << " to " << range.high
              << "\n"
              << dump(joined.graph) << all[i].index;
        }
      if (!simple) continue;
      TypedRun before = run(joined.graph, inputs, {joined.a[0], joined.b[0]});
      TypedRun after = run(simple->graph, inputs, {simple->a[0], simple->b[0]});
      for (size_t side : {0, 1})
        ASSERT_EQ(before.wanted[side].wholes, after.wanted[side].wholes)
            << seed << "\n"
            << dump(joined.graph) << joined.a[0].index << " " << joined.b[0].index << "\n"
            << dump(simple->graph);
    }
  }
  std::printf("%zu expressions, %zu rewritten\n", rounds, rewritten);
  EXPECT_GT(rewritten, rounds / 2);
}

struct Pair {
  const char *left, *right;
};

const Pair kEqual[] = {
    {"x % 8 % 8", "x % 8"},
    {"x % y % y", "x % y"},
    {"x % 12 % 4", "x % 4"},
    {"(x % 256 * y + 3) % 16", "(x * y + 3) % 16"},
    {"((x + 128) % 256 - 128 + 128) % 256 - 128", "(x + 128) % 256 - 128"},
    {"x / 1 + y % 1", "x"},
    {"(x + y) - y", "x"},
    {"select(x == x, y, x)", "y"},
    {"select(not (x < y), x, y)", "select(x < y, y, x)"},
    {"select(x < 0, select(0 <= x, y, x), y)", "select(x < 0, x, y)"},
    {"select(y == 0, 0 * x, x / y)", "x / y"},
    {"select(y == 0, 0 * x, select(y == -1, -x, x / select(y == 0 or y == -1, 1, y)))", "x / y"},
    {"x % select(y == 0 or y == -1, 1, y)", "x % y"},
    {"select(x > 3, 1, 0) + select(x <= 3, 1, 0) * 0", "select(3 < x, 1, 0)"},
    {"maximum(x % 8, -1)", "x % 8"},
    {"abs(x % 8)", "x % 8"},
    {"select(argmax(reshape(x, [1, 3]), axis = 0) < 1, x, y)", "x"},
    {"gather(x, select(i < 0, 3, i))", "gather(x, i)"},
    {"gather(x, select(i % 3 < 0, i % 3 + 3, i % 3))", "gather(x, i % 3)"},
};

const Pair kNotEqual[] = {
    {"x % 8 % 7", "x % 7"},
    {"x % 6 % 4", "x % 4"},
    {"(x % 12 + y) % 6", "(x + y) % 7"},
    {"(x / 2) * 2", "x"},
    {"select(y == 0, 0 * x + 1, x / y)", "x / y"},
    {"x / select(y == 0, 1, y)", "x / y"},
    {"x % select(y == 0 or y == 1, 2, y)", "x % y"},
    {"select(x <= y, x, y)", "select(x < y, y, x)"},
    {"abs(x)", "x"},
    {"(x + y) - 2 * y", "x"},
    {"maximum(x % 8, 1)", "x % 8"},
    {"(x + y) % 8", "x % 8 + y % 8"},
    {"gather(x, select(i < 0, 2, i))", "gather(x, i)"},
    {"gather(x, select(i < 0, i + 3, i))", "gather(x, i)"},
};

Equivalence compared(const Pair& pair, const char* dtype, const InputRanges& ranges = {}) {
  std::string parameters = std::string("x: ") + dtype + "[3], y: " + dtype + "[3], i: i64[3]";
  Result<Equivalence> result =
      check_equivalence(model(parameters, pair.left), model(parameters, pair.right), {}, ranges);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? std::move(*result) : Equivalence();
}

TEST(Integers, EqualPairsAreDecided) {
  for (const char* dtype : {"i32", "i64"})
    for (const Pair& pair : kEqual)
      EXPECT_TRUE(compared(pair, dtype).equal())
          << dtype << ": " << pair.left << "  and  " << pair.right;
}

TEST(Integers, OtherPairsAreDifferent) {
  for (const char* dtype : {"i32", "i64"})
    for (const Pair& pair : kNotEqual)
      EXPECT_TRUE(compared(pair, dtype).different())
          << dtype << ": " << pair.left << "  and  " << pair.right;
}

/// Pairs that are equal only within the range of their inputs.
TEST(Integers, RangesOfInputsCount) {
  const Pair pairs[] = {{"(x + 128) % 256 - 128", "x"},
                        {"select(x < 128, x, y)", "x"},
                        {"maximum(x, -128)", "x"},
                        {"select(x <= 127, x, y)", "x"},
                        {"cast(cast(x, i32), i64) + y * 0", "x"}};
  for (const Pair& pair : pairs) {
    InputRanges ranges;
    ranges["x"] = {-128, 127};
    EXPECT_TRUE(compared(pair, "i64", ranges).equal()) << pair.left;
    ranges["x"] = {-129, int64_t{1} << 31};
    EXPECT_TRUE(compared(pair, "i64", ranges).different()) << pair.left;
    EXPECT_TRUE(compared(pair, "i64").different()) << pair.left;
  }
}

} // namespace
} // namespace tg
