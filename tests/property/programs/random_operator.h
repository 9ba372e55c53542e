// Draws any operator in the table at random, without a list of names: operands of random types
// and attributes of their kinds, until `infer` accepts them. So a new row of ops.def is covered.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/resample.h"
#include "lang/core/support/random.h"

#include <functional>
#include <numeric>

namespace tg::test {

class RandomOperator {
public:
  /// Creates a tensor of a type in the way that the test chooses: a weight, an input, a constant.
  using Operand = std::function<NodeId(Graph&, const TensorType&)>;

  /// The domain of operands and attributes.
  struct Domain {
    llvm::ArrayRef<DType> dtypes = kFewDTypes;
    llvm::ArrayRef<int64_t> sizes = kFewSizes;
    int64_t most_integer = 5; // of attributes
    int tries = 200'000;
    int64_t most_elements = 2048;           // of an operand
    std::function<TensorType()> first = {}; // type of the first operand, or none; may be unset
  };

  RandomOperator(uint64_t seed, Operand operand) : RandomOperator(seed, std::move(operand), {}) {}
  RandomOperator(uint64_t seed, Operand operand, Domain domain)
      : random_(seed, "operator"), operand_(std::move(operand)), domain_(std::move(domain)) {}

  /// Adds the operator, or returns an invalid node if no accepted operands were found.
  /// Sugar and leaves are never added.
  NodeId add(Graph& graph, const OpInfo& op) {
    for (int i = 0; i < domain_.tries; ++i) {
      std::vector<TensorType> types = operand_types(op);
      llvm::SmallVector<ValueId, 4> attrs;
      for (const AttrInfo& attr : op.attrs())
        attrs.push_back(graph.symbols().value(value(op, attr, types)));
      if (NodeId id = try_add(graph, op, types, attrs); id.valid()) return id;
    }
    return {};
  }

private:
  static constexpr DType kFewDTypes[] = {DType::F32, DType::F32, DType::I32, DType::I64,
                                         DType::Bool};
  // 16: winograd_conv2d with tiles of two
  static constexpr int64_t kFewSizes[] = {1, 2, 2, 3, 3, 4, 4, 16};

  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }
  template <class T, size_t N> T one_of(const T (&list)[N]) { return list[below(N)]; }
  int64_t size() { return domain_.sizes[below(domain_.sizes.size())]; }

  /// Returns the rank of an operator's first operands, or -1 for any rank.
  static int64_t rank_of(const OpInfo& op) {
    switch (op.shape) {
    case ShapeRule::conv2d:
    case ShapeRule::winograd_weight:
    case ShapeRule::winograd_conv2d:
    case ShapeRule::conv_transpose2d:
    case ShapeRule::pool2d:
    case ShapeRule::enlarge:
    case ShapeRule::merge_gconv: return 4;
    case ShapeRule::conv3d: return 5;
    case ShapeRule::non_max_suppression: return 3;
    default: return -1;
    }
  }

  /// Returns the kernel of a convolution of x, in most draws.
  Shape kernel(const OpInfo& op, const TensorType& x) {
    Shape shape{size(), x[1]};
    if (op.shape == ShapeRule::conv_transpose2d) std::swap(shape[0], shape[1]);
    if (below(3) == 0) shape[1] = 1; // groups
    if (op.shape == ShapeRule::winograd_conv2d) return {below(2) ? 16 : 36, size(), x[1]};
    while (static_cast<int64_t>(shape.size()) < x.rank())
      shape.push_back(1 + static_cast<int64_t>(below(4)));
    return shape;
  }

  Shape shape(const OpInfo& op, llvm::ArrayRef<TensorType> before) {
    Shape result;
    int64_t rank = rank_of(op);
    bool convolves = rank > 3 && op.operand_count > 1 && before.size() == 1;
    if (convolves && before[0].rank() == rank && below(4)) return kernel(op, before[0]);
    if (rank > 0 && (before.empty() || rank == 3) && below(8)) {
      while (rank-- > 0) result.push_back(size());
      return bounded(result);
    }
    if (!before.empty() && below(2)) { // related: a suffix, equal, or permuted
      llvm::ArrayRef<int64_t> first = before[below(before.size())].shape;
      size_t dropped = below(first.size() + 1);
      result.append(first.begin() + static_cast<std::ptrdiff_t>(dropped), first.end());
      if (below(4) == 0 && !first.empty()) result = Shape{first[below(first.size())]};
      return result;
    }
    for (size_t axes = below(6); axes > 0; --axes) result.push_back(size());
    return bounded(result);
  }

  /// Shrinks axes while there are too many elements.
  Shape bounded(Shape shape) {
    auto elements = [&] {
      return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    };
    for (size_t axis = 0; axis < shape.size() && elements() > domain_.most_elements; ++axis)
      shape[axis] = std::min<int64_t>(shape[axis], 2);
    return elements() <= domain_.most_elements ? shape : Shape{2, 3};
  }

  std::vector<TensorType> operand_types(const OpInfo& op) {
    auto any_dtype = [&] { return domain_.dtypes[below(domain_.dtypes.size())]; };
    std::vector<TensorType> types;
    if (domain_.first && op.operand_count > 0 && below(3))
      if (TensorType given = domain_.first(); !given.is_none()) types.push_back(given);
    DType dtype = types.empty() ? any_dtype() : types[0].dtype;
    size_t count = op.variadic() ? 1 + below(3) : op.operand_count;
    for (size_t i = types.size(); i < count; ++i) {
      bool absent = !op.variadic() && op.operands()[i].optional && below(4);
      TensorType type{below(5) ? dtype : any_dtype(), shape(op, types)};
      types.push_back(absent ? TensorType{DType::None, {}} : type);
    }
    return types;
  }

  int64_t integer() {
    return static_cast<int64_t>(below(static_cast<size_t>(domain_.most_integer) + 2)) - 1;
  }

  std::vector<int64_t> integers(llvm::ArrayRef<TensorType> types) {
    size_t rank = types.empty() ? below(4) : types[0].shape.size();
    std::vector<int64_t> list(below(2) ? rank : 1 + below(4));
    bool in_turn = below(2), zero = below(2); // a permutation, or zeros
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = in_turn ? static_cast<int64_t>((i + 1) % list.size()) : zero ? 0 : integer();
    return list;
  }

  TensorType any_type() {
    constexpr DType kTypes[] = {DType::F32, DType::I32, DType::I64};
    return {one_of(kTypes), Shape{size(), size()}};
  }

  // NOLINTNEXTLINE(readability-function-size): a flat switch, one row a kind.
  Value value(const OpInfo& op, const AttrInfo& attr, llvm::ArrayRef<TensorType> types) {
    constexpr const char* kReduces[] = {"none", "add", "mul", "max", "min"};
    constexpr const char* kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};
    constexpr const char* kDTypes[] = {"f32", "f16", "bf16", "i32", "i64", "bool", "f64"};
    if (!attr.required && below(2)) return default_value(attr);
    switch (attr.kind) {
    case AttrKind::integer:
    case AttrKind::axis: return Value::of_int(integer());
    case AttrKind::boolean: return Value::of_bool(below(2) == 0);
    case AttrKind::real: return Value::of_float(0.25 * static_cast<double>(integer()));
    case AttrKind::ints:
    case AttrKind::axes: return Value::of_ints(integers(types));
    case AttrKind::floats: return Value::of_floats(std::vector<double>(1 + below(4), 0.5));
    case AttrKind::type: return Value::of_type(any_type());
    case AttrKind::act: return Value::of_enum(one_of(kActs));
    case AttrKind::pad:
      if (below(3) == 0) return Value::of_ints({integer(), integer(), integer(), integer()});
      return below(2) ? Value::of_enum(below(2) ? "same" : "valid") : Value::of_int(integer());
    case AttrKind::pair: {
      int64_t low = attr.default_text == "0" ? 0 : 1;
      auto draw = [&] { return low + static_cast<int64_t>(below(4)); };
      int64_t h = draw();
      return below(3) ? Value::of_int(h) : Value::of_ints({h, draw()});
    }
    case AttrKind::dtype: return Value::of_enum(one_of(kDTypes));
    case AttrKind::string: break;
    }
    if (op.kind == OpKind::Resize) {
      auto words = attr.name == "mode"          ? resize_modes()
                   : attr.name == "coordinates" ? resize_coordinates()
                                                : resize_roundings();
      return Value::of_string(words[below(words.size())]);
    }
    if (op.kind == OpKind::Scatter) return Value::of_string(one_of(kReduces));
    // The other string attribute that is not a name: a body over all operands.
    return Value::of_string(!op.has(Trait::Fused) ? "name"
                            : types.size() > 1    ? "maximum($0, $1)"
                                                  : "neg($0)");
  }

  NodeId try_add(Graph& graph, const OpInfo& op, llvm::ArrayRef<TensorType> types,
                 llvm::ArrayRef<ValueId> attrs) {
    llvm::SmallVector<TypeId, 4> ids;
    for (const TensorType& type : types) ids.push_back(graph.symbols().type(type));
    llvm::SmallVector<ValueId, 4> normal(attrs.begin(), attrs.end());
    TypeId result;
    std::string why;
    if (!infer(graph.symbols(), op.kind, normal, ids, result, &why)) return {};
    if (graph.symbols().type(result).elements() > 20'000) return {};
    llvm::SmallVector<NodeId, 4> operands;
    for (const TensorType& type : types)
      operands.push_back(type.is_none() ? graph.none() : operand_(graph, type));
    return graph.add(op.kind, normal, operands);
  }

  RandomStream random_;
  uint64_t draws_ = 0;
  Operand operand_;
  Domain domain_;
};

} // namespace tg::test
