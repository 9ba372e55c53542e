// The table of operator types, the inputs of each, and their text.
#include "runtime/tune/operator.h"

#include "runtime/tune/scanner.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <array>
#include <functional>
#include <numeric>

namespace tg::tune {

namespace {

constexpr int64_t kMostExtent = int64_t{1} << 32;
constexpr double kMostPoints = 0x1p60;

/// One row per type, in the order of OpType.
struct TypeRow {
  const char* name;
  std::vector<const char*> space, reduction;
  size_t spatial; // loops with their own stride
  int load_axis;  // index of a reduction loop, or -1
};

const TypeRow& row_of(OpType type) {
  static const std::array<TypeRow, kOpTypes> rows = {{
      {"C1D", {"n", "f", "x"}, {"rc", "rx"}, 1, 0},
      {"C2D", {"n", "f", "y", "x"}, {"rc", "ry", "rx"}, 2, 0},
      {"C3D", {"n", "f", "d", "y", "x"}, {"rc", "rd", "ry", "rx"}, 3, 0},
      {"BMM", {"b", "i", "j"}, {"k"}, 0, 0},
      {"GRP", {"n", "f", "y", "x"}, {"rc", "ry", "rx"}, 2, 0},
      {"DEP", {"n", "f", "y", "x"}, {"ry", "rx"}, 2, -1},
      {"T2D", {"n", "f", "y", "x"}, {"rc", "ry", "rx"}, 2, 0},
      {"CAP", {"n", "y", "x", "capi", "capj", "f"}, {"ry", "rx", "capk", "rc"}, 1, 3},
      {"WIN", {"eps", "nu", "p", "co"}, {"ci"}, 0, 0},
      {"FRB", {"n"}, {"h", "w"}, 0, -1},
  }};
  return rows[static_cast<size_t>(type)];
}

/// A parameter: its keyword, its number of values if present, and their lower bound.
struct Parameter {
  const char* name;
  Extents Operator::*field;
  size_t count;
  int64_t low;
};

std::vector<Parameter> parameters_of(OpType type) {
  std::vector<Parameter> found;
  size_t spatial = row_of(type).spatial;
  if (spatial) found.push_back({"stride", &Operator::stride, spatial, 1});
  if (spatial) found.push_back({"padding", &Operator::padding, spatial, 0});
  if (spatial && type != OpType::CAP)
    found.push_back({"dilation", &Operator::dilation, spatial, 1});
  if (type == OpType::GRP || type == OpType::T2D)
    found.push_back({"groups", &Operator::groups, 1, 1});
  if (type == OpType::DEP) found.push_back({"multiplier", &Operator::multiplier, 1, 1});
  if (type == OpType::BMM) found.push_back({"shared", &Operator::shared, 2, 0});
  if (type == OpType::WIN) found.push_back({"output", &Operator::output, 4, 1});
  return found;
}

std::string numbers_text(llvm::ArrayRef<int64_t> numbers) {
  std::string all;
  for (int64_t one : numbers) all += (all.empty() ? "" : ", ") + std::to_string(one);
  return all;
}

/// The value of a parameter for one loop.
int64_t at_or(const Extents& list, size_t i, int64_t otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

/// True for grouped types; transposed convolutions may also have groups.
bool in_groups(const Operator& op) {
  return op.type == OpType::GRP || (op.type == OpType::T2D && at_or(op.groups, 0, 1) > 1);
}

/// The inputs of each type.
class InputsOf {
public:
  explicit InputsOf(const Operator& op) : op_(op), reductions_(op.space.size()) {}

  std::vector<Input> all() const {
    switch (op_.type) {
    case OpType::BMM: return products();
    case OpType::CAP: return capsules();
    case OpType::WIN: return {{"data", dims({0, 1, 2, 4})}, {"kernel", dims({0, 1, 3, 4})}};
    case OpType::FRB: return {{"x", dims({0, 1, 2})}};
    default: return convolution();
    }
  }

private:
  static Dimension loop(size_t axis) { return {{Term{axis}}}; }
  static std::vector<Dimension> dims(std::initializer_list<size_t> axes) {
    std::vector<Dimension> found;
    for (size_t axis : axes) found.push_back(loop(axis));
    return found;
  }
  /// The index into the padded input: stride of the output and dilation of the kernel.
  Dimension window(size_t out, size_t tap, size_t i) const {
    int64_t stride = op_.type == OpType::T2D ? 1 : at_or(op_.stride, i, 1);
    return {{Term{out, stride}, Term{tap, at_or(op_.dilation, i, 1)}}};
  }

  std::vector<Input> convolution() const {
    bool depthwise = op_.type == OpType::DEP;
    size_t first_tap = reductions_ + (depthwise ? 0 : 1);
    Input data{"data", {loop(0)}}, kernel{"kernel", {loop(1)}};
    if (depthwise) data.dimensions.push_back({{Term{1, 1, at_or(op_.multiplier, 0, 1)}}});
    if (in_groups(op_))
      data.dimensions.push_back({{Term{1, 1, op_.space[1] / at_or(op_.groups, 0, 1)}}});
    if (!depthwise) {
      data.dimensions.push_back(loop(reductions_));
      kernel.dimensions.push_back(loop(reductions_));
    }
    if (op_.type == OpType::T2D) std::swap(kernel.dimensions[0], kernel.dimensions[1]);
    for (size_t i = 0; i + 2 < op_.space.size(); ++i) {
      data.dimensions.push_back(window(2 + i, first_tap + i, i));
      kernel.dimensions.push_back(loop(first_tap + i));
    }
    return {data, kernel};
  }

  std::vector<Input> products() const {
    auto operand = [&](const char* name, size_t rows, size_t which) {
      Input input{name, {at_or(op_.shared, which, 0) ? Dimension{} : loop(0)}};
      input.dimensions.push_back(loop(rows));
      input.dimensions.push_back(loop(3));
      return input;
    };
    return {operand("x", 1, 0), operand("y", 2, 1)};
  }

  std::vector<Input> capsules() const {
    int64_t stride = at_or(op_.stride, 0, 1);
    Input data{"data",
               {loop(0),
                {{Term{1, stride}, Term{6}}},
                {{Term{2, stride}, Term{7}}},
                loop(3),
                loop(8),
                loop(9)}};
    return {data, {"kernel", dims({6, 7, 8, 4, 9, 5})}};
  }

  const Operator& op_;
  size_t reductions_; // axis of the first reduction loop
};

Result<void> check_loops(const Operator& op) {
  const TypeRow& row = row_of(op.type);
  if (op.space.size() != row.space.size() || op.reduction.size() != row.reduction.size())
    return error(Code::bad_data_file, "{0} has {1} space and {2} reduction loops, got {3} and {4}",
                 row.name, row.space.size(), row.reduction.size(), op.space.size(),
                 op.reduction.size());
  for (int64_t extent : llvm::concat<const int64_t>(op.space, op.reduction))
    if (extent < 1 || extent > kMostExtent)
      return error(Code::bad_data_file, "a loop must have 1 to {0} points, got {1}", kMostExtent,
                   extent);
  if (volume(op.space) * volume(op.reduction) > kMostPoints)
    return error(Code::bad_data_file, "{0} has more than 2^60 points", row.name);
  return {};
}

} // namespace

llvm::StringRef type_name(OpType type) { return row_of(type).name; }

double volume(llvm::ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<double>());
}

int64_t product(llvm::ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<int64_t>());
}

Result<void> check(const Operator& op) {
  TG_CHECK(check_loops(op));
  for (const Parameter& parameter : parameters_of(op.type)) {
    const Extents& list = op.*parameter.field;
    bool needed = parameter.field == &Operator::output;
    if (list.size() != parameter.count && (needed || !list.empty()))
      return error(Code::bad_data_file, "`{0}` of {1} needs {2} numbers, got {3}", parameter.name,
                   type_name(op.type), parameter.count, list.size());
    for (int64_t one : list)
      if (one < parameter.low || one > kMostExtent)
        return error(Code::bad_data_file, "`{0}` must be from {1} to {2}, got {3}", parameter.name,
                     parameter.low, kMostExtent, one);
  }
  int64_t parts = at_or(op.groups, 0, 1) * at_or(op.multiplier, 0, 1);
  if (parts > 1 && op.space[1] % parts != 0)
    return error(Code::bad_data_file, "{0} filters cannot be divided into {1} groups", op.space[1],
                 parts);
  return {};
}

std::string text(const Operator& op) {
  std::string all = llvm::formatv("{0} [{1} | {2}]", type_name(op.type), numbers_text(op.space),
                                  numbers_text(op.reduction))
                        .str();
  for (const Parameter& parameter : parameters_of(op.type))
    if (const Extents& list = op.*parameter.field; !list.empty())
      all += llvm::formatv(" {0} {1}", parameter.name, numbers_text(list)).str();
  return all;
}

static Result<OpType> read_type(Scanner& scan) {
  for (size_t i = 0; i < kOpTypes; ++i)
    if (scan.take(type_name(static_cast<OpType>(i)))) return static_cast<OpType>(i);
  return scan.expected("a type of operator");
}

Result<Operator> scan_operator(Scanner& scan) {
  Operator op;
  TG_TRY(op.type, read_type(scan));
  TG_CHECK(scan.expect("["));
  TG_TRY(op.space, scan.numbers(1, kMostExtent));
  TG_CHECK(scan.expect("|"));
  TG_TRY(op.reduction, scan.numbers(1, kMostExtent));
  TG_CHECK(scan.expect("]"));
  for (const Parameter& parameter : parameters_of(op.type)) {
    if (!scan.take(parameter.name)) continue;
    TG_TRY(op.*parameter.field, scan.numbers(parameter.low, kMostExtent));
  }
  TG_CHECK(check(op));
  return op;
}

Extents Nest::loops() const {
  Extents all = space;
  all.insert(all.end(), reduction.begin(), reduction.end());
  return all;
}

Nest nest_of(const Operator& op) {
  Nest nest{op.space, op.reduction, InputsOf(op).all(), {}, Extents(op.space.size(), 1)};
  if (int axis = row_of(op.type).load_axis; axis >= 0) nest.load_axis = static_cast<size_t>(axis);
  if (in_groups(op)) nest.block_step[1] = op.space[1] / at_or(op.groups, 0, 1);
  return nest;
}

int64_t box_extent(const Dimension& dimension, llvm::ArrayRef<int64_t> covered) {
  int64_t last = 0;
  for (const Term& term : dimension.terms)
    last += (covered[term.axis] - 1) / term.divisor * term.scale;
  return last + 1;
}

Extents box_of(const Input& input, llvm::ArrayRef<int64_t> covered) {
  Extents box;
  for (const Dimension& dimension : input.dimensions) box.push_back(box_extent(dimension, covered));
  return box;
}

std::vector<FlatStage> flat_stages(const Operator& op) {
  if (op.type == OpType::FRB) return {{"squares", op.space[0]}, {"root", op.space[0]}};
  if (op.type != OpType::WIN) return {};
  int64_t tiles = op.space[2], filters = op.space[3];
  return {{"data_pack", op.reduction[0] * tiles},
          {"inverse", filters * tiles},
          {"output", op.output[0] * op.output[1] * op.output[2] * filters}};
}

Extents comparable_loops(const Operator& op) {
  Extents loops = op.space;
  if (op.type == OpType::GRP || op.type == OpType::DEP || op.type == OpType::T2D) {
    int64_t filters = loops[1];
    int64_t outer =
        op.type == OpType::DEP ? filters / at_or(op.multiplier, 0, 1) : at_or(op.groups, 0, 1);
    loops[1] = outer;
    loops.insert(loops.begin() + 2, filters / outer);
  }
  loops.insert(loops.end(), op.reduction.begin(), op.reduction.end());
  return loops;
}

} // namespace tg::tune
