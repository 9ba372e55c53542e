#include "compiler/egraph/rule_sample.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// Instances stay small, so that both sides can be evaluated thousands of times.
constexpr int64_t kMaxInstanceElements = 4096;

/// What the conditions say outright about one variable; the sampler follows it where it can.
struct Hints {
  llvm::SmallVector<ExprIndex, 1> equals; // of a value variable
  llvm::SmallVector<ExprIndex, 1> ranks, shapes;
  llvm::SmallVector<std::pair<ExprIndex, ExprIndex>, 2> dims, least_dims; // axis, size
  std::optional<bool> weight, none, constant;
};

} // namespace

/// One walk down the left side.
class RuleSampler::Attempt {
public:
  Attempt(Symbols& symbols, const Rule& rule, std::mt19937_64& rng, RuleInstance& instance,
          std::string& why)
      : symbols_(symbols), rule_(rule), rng_(rng), in_(instance), why_(why),
        types_(rule.terms.size()), class_hints_(rule.class_vars), value_hints_(rule.value_vars) {
    in_.types.assign(rule.class_vars, TypeId{});
    in_.values.assign(rule.value_vars, ValueId{});
    for (ExprIndex condition : rule.conditions) read_hints(condition, true);
    for (uint32_t v = 0; v < rule.class_vars; ++v) {
      bool constant = class_hints_[v].constant.value_or(chance(10));
      in_.constants.push_back(constant);
      in_.weights.push_back(class_hints_[v].weight.value_or(constant || chance(30)));
    }
  }

  bool run() {
    for (TermId root : rule_.lhs)
      if (!make(root, nullptr)) return false;
    return true;
  }

private:
  // --- chance -----------------------------------------------------------------------------------

  int64_t between(int64_t low, int64_t high) { // both included; portable, unlike std's
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  int64_t size() {
    constexpr int64_t kSizes[] = {1, 2, 2, 3, 3, 4, 4, 5, 6};
    return kSizes[between(0, std::size(kSizes) - 1)];
  }
  Shape any_shape(int64_t least_rank = 0) {
    constexpr int64_t kRanks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4};
    int64_t rank = std::max(least_rank, kRanks[between(0, std::size(kRanks) - 1)]);
    Shape shape;
    for (int64_t i = 0; i < rank; ++i) shape.push_back(size());
    return shape;
  }
  /// Often the shape of an image that is there already: rules that join things want them alike.
  Shape image() {
    if (!images_.empty() && chance(60)) {
      Shape shape = images_[static_cast<size_t>(between(0, last(images_)))];
      if (chance(30)) shape[static_cast<size_t>(between(0, 3))] = between(1, 5);
      return shape;
    }
    int64_t channels = chance(20) ? between(1, 7) : 2 * between(1, 3);
    return {between(1, 2), channels, between(2, 7), between(2, 7)};
  }
  template <class List> static int64_t last(const List& list) {
    return static_cast<int64_t>(list.size()) - 1;
  }
  /// The shape of a variable that is bound already, perhaps but for one axis.
  std::optional<Shape> bound_shape() {
    llvm::SmallVector<const TensorType*, 8> bound;
    for (TypeId id : in_.types)
      if (id != TypeId{} && !symbols_.type(id).is_none()) bound.push_back(&symbols_.type(id));
    if (bound.empty()) return std::nullopt;
    Shape shape = bound[static_cast<size_t>(between(0, last(bound)))]->shape;
    if (!shape.empty() && chance(40)) shape[static_cast<size_t>(between(0, last(shape)))] = size();
    return shape;
  }
  int64_t divisor(int64_t n) {
    llvm::SmallVector<int64_t, 8> all;
    for (int64_t d = 1; d <= n; ++d)
      if (n % d == 0) all.push_back(d);
    return all[between(0, static_cast<int64_t>(all.size()) - 1)];
  }
  /// A shape that broadcasts to `shape`: some leading axes left out, some made 1.
  Shape narrower(Shape shape) {
    shape.erase(shape.begin(), shape.begin() + between(0, static_cast<int64_t>(shape.size())));
    int ones = chance(50) ? 50 : 0;
    for (int64_t& dim : shape)
      if (chance(ones)) dim = 1;
    return shape;
  }
  /// The same elements under another shape.
  Shape regrouped(llvm::ArrayRef<int64_t> shape) {
    Shape result;
    for (int64_t dim : shape) {
      int64_t part = chance(40) ? divisor(dim) : 1;
      bool join = !result.empty() && chance(30);
      if (part != 1) {
        result.push_back(part);
        dim /= part;
        join = false;
      }
      if (join)
        result.back() *= dim;
      else
        result.push_back(dim);
    }
    if (chance(20)) result.insert(result.begin() + between(0, result.size()), 1);
    return result;
  }

  // --- what conditions say ----------------------------------------------------------------------

  void read_hints(ExprIndex at, bool truth) {
    const ValueExpr& e = rule_.exprs[at];
    switch (e.kind) {
    case Kind::Not: return read_hints(e.operands[0], !truth);
    case Kind::IsWeight: class_hints_[e.variable].weight = truth; return;
    case Kind::IsNone: class_hints_[e.variable].none = truth; return;
    case Kind::IsConstant: class_hints_[e.variable].constant = truth; return;
    case Kind::Ge:
      if (const ValueExpr& dim = rule_.exprs[e.operands[0]]; truth && dim.kind == Kind::Dim)
        class_hints_[dim.variable].least_dims.push_back({dim.operands[0], e.operands[1]});
      return;
    case Kind::Eq:
      if (!truth) return;
      equality(e.operands[0], e.operands[1]);
      equality(e.operands[1], e.operands[0]);
      return;
    default: return;
    }
  }

  void equality(ExprIndex side, ExprIndex other) {
    const ValueExpr& e = rule_.exprs[side];
    switch (e.kind) {
    case Kind::Variable: value_hints_[e.variable].equals.push_back(other); return;
    case Kind::Rank: class_hints_[e.variable].ranks.push_back(other); return;
    case Kind::ShapeOf: class_hints_[e.variable].shapes.push_back(other); return;
    case Kind::Dim: class_hints_[e.variable].dims.push_back({e.operands[0], other}); return;
    default: return;
    }
  }

  std::optional<Value> value_of(ExprIndex at) {
    std::optional<ValueId> id = evaluate({rule_, symbols_, in_.values, in_}, at);
    if (!id) return std::nullopt;
    return symbols_.value(*id);
  }
  std::optional<int64_t> int_of(ExprIndex at) {
    std::optional<Value> v = value_of(at);
    if (!v || !v->is(Value::Kind::Int)) return std::nullopt;
    return v->number;
  }

  /// What hints (`dims` or `least_dims`) say of one axis of a term; `otherwise` if they say
  /// nothing.
  int64_t hinted_dim(TermId id, decltype(Hints::dims) Hints::*hints, int64_t axis,
                     int64_t otherwise) {
    const Term& term = rule_.terms[id];
    if (term.kind != Term::Kind::ClassVar) return otherwise;
    for (auto [axis_expr, size_expr] : class_hints_[term.variable].*hints)
      if (std::optional<int64_t> dim = int_of(size_expr); dim && int_of(axis_expr) == axis)
        return std::max<int64_t>(*dim, 1);
    return otherwise;
  }

  /// A shape for an unbound class variable that nobody asked for another.
  Shape hinted_shape(uint32_t variable, int64_t least_rank) {
    const Hints& hints = class_hints_[variable];
    for (ExprIndex at : hints.shapes)
      if (std::optional<Value> v = value_of(at); v && v->is(Value::Kind::Ints))
        return Shape(v->ints.begin(), v->ints.end());
    Shape shape = any_shape(least_rank);
    std::optional<Shape> like = chance(60) ? bound_shape() : std::nullopt;
    if (like && static_cast<int64_t>(like->size()) >= least_rank) shape = *like;
    for (ExprIndex at : hints.ranks)
      if (std::optional<int64_t> rank = int_of(at); rank && *rank >= 0 && *rank <= kMaxRank) {
        if (like && static_cast<int64_t>(like->size()) == *rank) continue;
        shape.resize(static_cast<size_t>(*rank));
        for (int64_t& dim : shape) dim = size();
      }
    for (auto [axis_expr, size_expr] : hints.dims) {
      std::optional<int64_t> axis = int_of(axis_expr), dim = int_of(size_expr);
      if (!axis || !dim) continue;
      int64_t rank = static_cast<int64_t>(shape.size());
      if (*axis >= -rank && *axis<rank&& * dim> 0)
        shape[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)] = *dim;
    }
    return shape;
  }

  // --- terms ------------------------------------------------------------------------------------

  /// Fails where no tensor has the type: what regroups a shape may split it into too many axes.
  bool bind(uint32_t variable, const TensorType& type) {
    if (type.rank() > kMaxRank) return false;
    in_.types[variable] = symbols_.type(type);
    return true;
  }

  /// Gives the term a type, of that shape if one is wanted.
  bool make(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (types_[id] == TypeId{}) {
      if (term.kind == Term::Kind::ClassVar) {
        if (in_.types[term.variable] == TypeId{} &&
            !bind(term.variable, f32(want ? *want : hinted_shape(term.variable, 0))))
          return false;
        types_[id] = in_.types[term.variable];
      } else if (!make_op(id, want)) {
        return false;
      }
    }
    const TensorType& type = symbols_.type(types_[id]);
    if (!want || (!type.is_none() && type.shape == *want)) return true;
    if (term.kind == Term::Kind::ClassVar)
      why_ = "`" + rule_.class_var_names[term.variable] + "` would be " + type.text() + " and " +
             f32(*want).text();
    return false;
  }
  bool make(TermId id, const Shape& want) { return make(id, &want); }

  /// The shape of a term that is decided already, by bound variables alone.
  std::optional<Shape> known(TermId id) {
    if (types_[id] == TypeId{} && (!decided(id) || !make(id, nullptr))) return std::nullopt;
    const TensorType& type = symbols_.type(types_[id]);
    if (type.is_none()) return std::nullopt;
    return type.shape;
  }

  bool decided(TermId id) const {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) return in_.types[term.variable] != TypeId{};
    return llvm::all_of(term.operands, [&](TermId operand) { return decided(operand); });
  }

  const Shape& shape(TermId id) const { return symbols_.type(types_[id]).shape; }
  bool is_op(TermId id) const { return rule_.terms[id].kind == Term::Kind::Op; }

  /// An operand that may be absent.
  bool make_optional(TermId id, const Shape& want) {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      if (in_.types[term.variable] == TypeId{}) {
        bool absent = class_hints_[term.variable].none.value_or(chance(50));
        in_.types[term.variable] = absent ? symbols_.none_type() : symbols_.type(f32(want));
      }
      types_[id] = in_.types[term.variable];
      return true;
    }
    return term.op == OpKind::None ? make(id, nullptr) : make(id, want);
  }

  /// What a slot holds if that is decided: a literal, a bound variable, or what a condition says.
  std::optional<Value> attr(const Term& term, size_t slot) {
    const TermAttr& a = term.attrs[slot];
    if (a.kind == TermAttr::Kind::Literal) return a.literal;
    if (in_.values[a.variable] != ValueId{}) return symbols_.value(in_.values[a.variable]);
    for (ExprIndex at : value_hints_[a.variable].equals)
      if (std::optional<Value> v = value_of(at)) return v;
    return std::nullopt;
  }
  Value attr_or(const Term& term, size_t slot, Value otherwise) {
    return attr(term, slot).value_or(std::move(otherwise));
  }
  int64_t int_or(const Term& term, size_t slot, int64_t otherwise) {
    Value v = attr_or(term, slot, Value::of_int(otherwise));
    return v.is(Value::Kind::Int) ? v.number : otherwise;
  }

  /// Types the term from its operands and these attributes, and binds what the slots bind.
  bool finish(TermId id, llvm::ArrayRef<Value> values) {
    const Term& term = rule_.terms[id];
    llvm::SmallVector<ValueId, 4> attrs;
    for (const Value& v : values) attrs.push_back(symbols_.value(v));
    llvm::SmallVector<TypeId, 4> operands;
    for (TermId operand : term.operands) operands.push_back(types_[operand]);
    TypeId type;
    if (!infer(symbols_, term.op, attrs, operands, type, &why_)) return false;
    if (symbols_.type(type).elements() > kMaxInstanceElements) return false;
    for (size_t slot = 0; slot < attrs.size(); ++slot) {
      const TermAttr& a = term.attrs[slot];
      ValueId wanted =
          a.kind == TermAttr::Kind::Literal ? symbols_.value(a.literal) : in_.values[a.variable];
      if (wanted != ValueId{} && wanted != attrs[slot]) return false;
      if (a.kind == TermAttr::Kind::Variable) in_.values[a.variable] = attrs[slot];
    }
    types_[id] = type;
    return true;
  }

  bool make_op(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    switch (op_info(term.op).shape) {
    case ShapeRule::none: types_[id] = symbols_.none_type(); return true;
    case ShapeRule::leaf: return finish(id, {term.attrs[0].literal, term.attrs[1].literal});
    case ShapeRule::same:
    case ShapeRule::clip:
    case ShapeRule::cast: return make(term.operands[0], want) && finish(id, {});
    case ShapeRule::broadcast:
    case ShapeRule::compare: return make_broadcast(id, want);
    case ShapeRule::matmul: return make_matmul(id, want);
    case ShapeRule::conv2d: return make_conv2d(id, want);
    case ShapeRule::winograd_weight: return make_winograd_weight(id, want);
    case ShapeRule::winograd_conv2d: return make_winograd_conv2d(id, want);
    case ShapeRule::pool2d: return make_pool(id, want);
    case ShapeRule::softmax: return make_softmax(id, want);
    case ShapeRule::batch_norm: return make_norm(id, want, 2);
    case ShapeRule::layer_norm: return make_norm(id, want, 1);
    case ShapeRule::reduce: return make_reduce(id, want);
    case ShapeRule::concat: return make_concat(id, want);
    case ShapeRule::slice: return make_slice(id, want);
    case ShapeRule::reshape: return make_reshape(id, want);
    case ShapeRule::transpose: return make_transpose(id, want);
    case ShapeRule::pad: return make_pad(id, want);
    case ShapeRule::enlarge: return make_enlarge(id, want);
    case ShapeRule::merge_gconv: return make_merge(id, want);
    case ShapeRule::fused_map: return make_fused(id, want);
    case ShapeRule::split: return false;
    case ShapeRule::select: // conditions, indices and positions are not drawn yet
    case ShapeRule::argmax:
    case ShapeRule::gather:
    case ShapeRule::iota: why_ = "an operator of which no instance can be drawn"; return false;
    }
    return false;
  }

  bool make_broadcast(TermId id, const Shape* want) {
    TermId a = rule_.terms[id].operands[0], b = rule_.terms[id].operands[1];
    std::optional<Shape> ka = known(a), kb = known(b);
    if (ka && kb) return finish(id, {});
    if (kb || (!ka && (is_op(b) ? !is_op(a) || chance(50) : !is_op(a) && chance(50)))) {
      std::swap(a, b);
      std::swap(ka, kb);
    } // a goes first
    if (!make(a, ka ? nullptr : want)) return false;
    const Shape& first = shape(a);
    Shape second = want ? *want : first;
    if (want && first == *want && !is_op(b) && chance(50)) second = narrower(first);
    if (!want && !is_op(b) && chance(40)) second = narrower(first);
    if (!want && !is_op(b) && chance(15)) second.insert(second.begin(), size());
    return make(b, second) && finish(id, {});
  }

  bool make_matmul(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (want && want->size() < 2) return false;
    TermId x = term.operands[0], y = term.operands[1];
    std::optional<Shape> kx = known(x), ky = known(y);
    if (!kx && !want && is_op(x) && make(x, nullptr)) kx = known(x);
    if (!ky && !kx && !want && is_op(y) && make(y, nullptr)) ky = known(y);
    if ((kx && kx->size() < 2) || (ky && ky->size() < 2)) return false;
    Shape batch;
    if (want)
      batch.assign(want->begin(), want->end() - 2);
    else if (kx || ky)
      batch.assign((kx ? kx : ky)->begin(), (kx ? kx : ky)->end() - 2);
    else
      for (int64_t n = chance(65) ? 0 : between(1, 2); n > 0; --n) batch.push_back(size());
    int64_t k = kx ? kx->back() : ky ? (*ky)[ky->size() - 2] : size();
    if (!kx) {
      Shape s = batch;
      s.append({want ? (*want)[want->size() - 2] : size(), k});
      if (!make(x, s)) return false;
    }
    if (!ky) {
      Shape s = chance(60) ? Shape() : batch;
      s.append({k, want ? want->back() : size()});
      if (!make(y, s)) return false;
    }
    return epilogue(id, shape(y).back(), {attr_or(term, 0, any_act())});
  }

  Value any_act() { return Value::of_enum(act_name(static_cast<Act>(between(0, 4)))); }

  /// Bias and residual, once x and y are made, and the whole.
  bool epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs) {
    const Term& term = rule_.terms[id];
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& v : attrs) ids.push_back(symbols_.value(v));
    TypeId none = symbols_.none_type(), plain;
    TypeId x = types_[term.operands[0]], y = types_[term.operands[1]];
    if (!infer(symbols_, term.op, ids, {x, y, none, none}, plain, &why_)) return false;
    Shape result = symbols_.type(plain).shape;
    return make_optional(term.operands[2], {channels}) && make_optional(term.operands[3], result) &&
           finish(id, attrs);
  }

  Value any_pair(int64_t high) {
    int64_t a = between(1, high);
    return Value::of_ints({a, chance(70) ? a : between(1, high)});
  }
  Value any_pad() {
    if (chance(40)) return Value::of_enum("same");
    if (chance(40)) return Value::of_enum("valid");
    return Value::of_ints({between(0, 2), between(0, 2), between(0, 1), between(0, 1)});
  }

  /// An input size along one axis that gives `out` results.
  int64_t input_size(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                     const Value& pad, size_t axis) {
    if (pad.is(Value::Kind::Enum) && pad.text == "same")
      return std::max<int64_t>(1, out * stride - between(0, stride - 1));
    int64_t n = (out - 1) * stride + (kernel - 1) * dilation + 1 + between(0, stride - 1);
    if (pad.is(Value::Kind::Ints)) n -= pad.ints[axis] + pad.ints[axis + 2];
    return std::max<int64_t>(n, 1);
  }

  bool pairs(llvm::ArrayRef<Value> values) {
    return llvm::all_of(values, [](const Value& v) { return v.ints.size() == 2; });
  }

  Shape any_kernel() {
    constexpr int64_t kSizes[] = {1, 1, 2, 3, 3, 4, 5};
    if (!kernels_.empty() && chance(60)) {
      Shape kernel = kernels_[static_cast<size_t>(between(0, last(kernels_)))];
      if (chance(50)) kernel[0] = 2 * size();
      return kernel;
    }
    int64_t k = kSizes[between(0, 6)];
    return {2 * size(), 1, k, chance(70) ? k : kSizes[between(0, 6)]};
  }

  /// The kernel of a convolution of an input with so many channels.
  bool make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want) {
    int64_t groups = chance(50) ? 1 : divisor(channels);
    bool fits =
        kernel[1] > 0 && channels % kernel[1] == 0 && kernel[0] % (channels / kernel[1]) == 0;
    if (fits && chance(70)) return make(w, kernel); // like one that is there already
    if (!want) kernel[0] = groups * between(1, 3);
    kernel[1] = channels / groups;
    return make(w, kernel);
  }

  bool make_conv2d(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (want && want->size() != 4) return false;
    TermId x = term.operands[0], w = term.operands[1];
    std::optional<Shape> kx = known(x), kw = known(w);
    if ((kx && kx->size() != 4) || (kw && kw->size() != 4)) return false;
    Shape kernel = kw ? *kw : any_kernel();
    for (int64_t i : {2, 3})
      if (!kw) kernel[i] = hinted_dim(w, &Hints::dims, i, kernel[i]);
    if (want) kernel[0] = (*want)[1];
    if (kx && !kw && !make_kernel(w, kernel, (*kx)[1], want)) return false;
    // Only now, for conditions tell attributes from kernels.
    Value stride = attr_or(term, 0, any_pair(3)), pad = attr_or(term, 1, any_pad());
    Value dilation = attr_or(term, 2, chance(75) ? Value::of_ints({1, 1}) : any_pair(2));
    if (!pairs({stride, dilation})) return false;
    if (!kx) {
      Shape s = image();
      if (int64_t least = hinted_dim(w, &Hints::least_dims, 1, 1); s[1] < least)
        s[1] = least * between(1, 2);
      if (kw) s[1] = kernel[1] * (chance(60) ? 1 : divisor(kernel[0]));
      if (want) {
        s[0] = (*want)[0];
        for (size_t i : {0, 1})
          s[2 + i] =
              input_size((*want)[2 + i], kernel[2 + i], stride.ints[i], dilation.ints[i], pad, i);
      }
      if (!make(x, s)) return false;
      if (!kw && !known(w) && !make_kernel(w, kernel, shape(x)[1], want)) return false;
    }
    images_.push_back(shape(x));
    kernels_.push_back(shape(w));
    return epilogue(id, shape(w)[0], {stride, pad, dilation, attr_or(term, 3, any_act())});
  }

  bool make_winograd_weight(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (want && want->size() != 3) return false;
    int64_t tile = int_or(term, 0, want ? ((*want)[0] == 16 ? 2 : 4) : 2 * between(1, 2));
    Shape s = {want ? (*want)[1] : 2 * size(), want ? (*want)[2] : size(), 3, 3};
    TermId w = term.operands[0];
    return (known(w) || make(w, s)) && finish(id, {Value::of_int(tile)});
  }

  bool make_winograd_conv2d(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (want && want->size() != 4) return false;
    TermId x = term.operands[0], u = term.operands[1];
    if (is_op(u) && !known(u) && !make(u, nullptr)) return false;
    std::optional<Shape> kx = known(x), ku = known(u);
    if ((kx && kx->size() != 4) || (ku && ku->size() != 3)) return false;
    Value pad = attr_or(term, 0, any_pad());
    if (!kx) {
      Shape s = image();
      if (ku) s[1] = (*ku)[2] * (chance(60) ? 1 : divisor((*ku)[1]));
      if (want) s[0] = (*want)[0];
      for (size_t i : {0, 1})
        if (want) s[2 + i] = input_size((*want)[2 + i], 3, 1, 1, pad, i);
      if (!make(x, s)) return false;
    }
    if (!ku) {
      int64_t groups = chance(50) ? 1 : divisor(shape(x)[1]);
      int64_t outputs = want ? (*want)[1] : groups * between(1, 3);
      if (!make(u, {chance(50) ? 16 : 36, outputs, shape(x)[1] / groups})) return false;
    }
    return epilogue(id, shape(u)[1], {pad, attr_or(term, 1, any_act())});
  }

  bool make_pool(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (want && want->size() != 4) return false;
    Value kernel = attr_or(term, 0, any_pair(3)), stride = attr_or(term, 1, any_pair(2));
    Value pad = attr_or(term, 2, any_pad());
    if (!pairs({kernel, stride})) return false;
    if (!known(term.operands[0])) {
      Shape s = image();
      if (want) {
        s[0] = (*want)[0];
        s[1] = (*want)[1];
        for (size_t i : {0, 1})
          s[2 + i] = input_size((*want)[2 + i], kernel.ints[i], stride.ints[i], 1, pad, i);
      }
      if (!make(term.operands[0], s)) return false;
    }
    llvm::SmallVector<Value, 4> attrs = {kernel, stride, pad};
    if (term.attrs.size() > 3) attrs.push_back(attr_or(term, 3, Value::of_bool(chance(50))));
    return finish(id, attrs);
  }

  bool make_with_rank(TermId id, const Shape* want, int64_t least) {
    if (!want && !is_op(id) && !known(id)) {
      Shape s = hinted_shape(rule_.terms[id].variable, least);
      return make(id, s);
    }
    return make(id, want) && static_cast<int64_t>(shape(id).size()) >= least;
  }

  bool make_softmax(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    if (!make_with_rank(term.operands[0], want, 1)) return false;
    int64_t rank = static_cast<int64_t>(shape(term.operands[0]).size());
    return finish(id, {attr_or(term, 0, Value::of_int(between(0, rank - 1)))});
  }

  /// batch_norm (channels along axis 1) and layer_norm (along the last).
  bool make_norm(TermId id, const Shape* want, int64_t least_rank) {
    const Term& term = rule_.terms[id];
    if (!make_with_rank(term.operands[0], want, least_rank)) return false;
    const Shape& x = shape(term.operands[0]);
    Shape channels = {least_rank == 2 ? x[1] : x.back()};
    for (TermId operand : llvm::ArrayRef<TermId>(term.operands).drop_front())
      if (!make(operand, channels)) return false;
    return finish(id, {attr_or(term, 0, Value::of_float(1e-3 * static_cast<double>(size())))});
  }

  llvm::SmallVector<int64_t, 4> some_axes(int64_t rank) {
    llvm::SmallVector<int64_t, 4> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (chance(45)) axes.push_back(axis);
    if (axes.empty()) axes.push_back(between(0, rank - 1));
    return axes;
  }

  bool make_reduce(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId x = term.operands[0];
    bool keep = attr_or(term, 1, Value::of_bool(chance(50))).number != 0;
    if (want && !known(x)) {
      Value axes = attr_or(term, 0,
                           Value::of_ints(some_axes(static_cast<int64_t>(want->size()) +
                                                    (keep ? 0 : between(1, 2)))));
      Shape s = *want;
      for (int64_t axis : axes.ints) {
        if (axis < 0 || axis > static_cast<int64_t>(s.size())) return false;
        if (!keep) s.insert(s.begin() + axis, 1);
        if (axis >= static_cast<int64_t>(s.size())) return false;
        s[static_cast<size_t>(axis)] = size();
      }
      return make(x, s) && finish(id, {axes, Value::of_bool(keep)});
    }
    if (!make_with_rank(x, nullptr, 1)) return false;
    Value axes = attr_or(term, 0, Value::of_ints(some_axes(static_cast<int64_t>(shape(x).size()))));
    return finish(id, {axes, Value::of_bool(keep)});
  }

  bool make_concat(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    Shape like;
    bool some_known = false;
    for (TermId operand : term.operands)
      if (std::optional<Shape> k = known(operand); k && !some_known) {
        like = *k;
        some_known = true;
      }
    if (want) like = *want;
    if (!want && !some_known) {
      TermId first = term.operands[0];
      for (TermId operand : term.operands)
        if (is_op(operand) && !is_op(first)) first = operand;
      if (!make_with_rank(first, nullptr, 1)) return false;
      like = shape(first);
    }
    if (like.empty()) return false;
    int64_t axis = int_or(term, 0, between(0, static_cast<int64_t>(like.size()) - 1));
    if (axis < 0 || axis >= static_cast<int64_t>(like.size())) return false;
    int64_t left = want ? like[static_cast<size_t>(axis)] : 0;
    for (size_t i = 0; i < term.operands.size(); ++i) {
      int64_t after = static_cast<int64_t>(term.operands.size() - i) - 1;
      Shape s = like;
      int64_t& dim = s[static_cast<size_t>(axis)];
      if (!want) dim = chance(40) ? dim : size();
      if (want && left - after < 1) return false;
      if (want) dim = after == 0 ? left : between(1, left - after);
      if (!known(term.operands[i]) && !make(term.operands[i], s)) return false;
      const Shape& made = shape(term.operands[i]);
      if (want && made.size() == s.size()) left -= made[static_cast<size_t>(axis)];
    }
    return finish(id, {Value::of_int(axis)});
  }

  bool make_slice(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId x = term.operands[0];
    std::optional<Shape> kx = known(x);
    if (!kx && !want && is_op(x)) {
      if (!make(x, nullptr)) return false;
      kx = known(x);
    }
    Shape s = kx ? *kx : want ? *want : any_shape(1);
    if (s.empty()) return false;
    int64_t axis = int_or(term, 0, between(0, static_cast<int64_t>(s.size()) - 1));
    if (axis < 0 || axis >= static_cast<int64_t>(s.size())) return false;
    int64_t& dim = s[static_cast<size_t>(axis)];
    int64_t length = want && axis < static_cast<int64_t>(want->size())
                         ? (*want)[static_cast<size_t>(axis)]
                         : between(1, kx ? dim : 4);
    int64_t start =
        int_or(term, 1, kx ? between(0, std::max<int64_t>(dim - length, 0)) : between(0, 2));
    int64_t stop = int_or(term, 2, chance(30) && kx && !want ? dim : start + length);
    if (!kx) {
      dim = stop + (chance(50) ? 0 : between(0, 3));
      if (dim < 1 || !make(x, s)) return false;
      stop = int_or(term, 2, stop);
    }
    return finish(id, {Value::of_int(axis), Value::of_int(start), Value::of_int(stop)});
  }

  bool make_reshape(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId x = term.operands[0];
    std::optional<Value> decided_shape = attr(term, 0);
    Shape target = want ? *want : Shape();
    if (decided_shape && decided_shape->is(Value::Kind::Ints))
      target.assign(decided_shape->ints.begin(), decided_shape->ints.end());
    bool have_target = want || decided_shape;
    if (!known(x) && have_target) {
      if (!make(x, regrouped(target))) return false;
    } else if (!make(x, nullptr)) {
      return false;
    }
    if (std::optional<Value> v = attr(term, 0)) return finish(id, {*v}); // may need x
    return finish(id, {Value::of_ints(have_target ? target : regrouped(shape(x)))});
  }

  Value any_permutation(size_t rank) {
    llvm::SmallVector<int64_t, 4> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    if (rank >= 2 && chance(40)) // of matrices: the form that products care for
      std::swap(perm[rank - 1], perm[rank - 2]);
    else
      for (size_t i = rank; i > 1; --i)
        std::swap(perm[i - 1], perm[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
    return Value::of_ints(perm);
  }

  bool make_transpose(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId x = term.operands[0];
    if (want && !known(x)) {
      Value perm = attr_or(term, 0, any_permutation(want->size()));
      if (perm.ints.size() != want->size()) return false;
      Shape s(want->size(), 1);
      for (size_t i = 0; i < s.size(); ++i) {
        if (perm.ints[i] < 0 || perm.ints[i] >= static_cast<int64_t>(s.size())) return false;
        s[static_cast<size_t>(perm.ints[i])] = (*want)[i];
      }
      return make(x, s) && finish(id, {perm});
    }
    std::optional<Value> perm = attr(term, 0);
    if (perm && !known(x) && !is_op(x)) {
      Shape s;
      for (size_t i = 0; i < perm->ints.size(); ++i) s.push_back(size());
      if (!make(x, s)) return false;
    }
    if (!make(x, nullptr)) return false;
    return finish(id, {attr_or(term, 0, any_permutation(shape(x).size()))});
  }

  bool make_pad(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId x = term.operands[0];
    if (!want && !make_with_rank(x, nullptr, 1)) return false;
    Shape s = want ? *want : shape(x);
    llvm::SmallVector<int64_t, 4> before, after;
    for (size_t i = 0; i < s.size(); ++i) {
      before.push_back(chance(50) ? 0 : between(0, 2));
      after.push_back(chance(50) ? 0 : between(0, 2));
    }
    if (s.size() == 4 && chance(70)) // as a convolution would
      before[0] = before[1] = after[0] = after[1] = 0;
    Value b = attr_or(term, 0, Value::of_ints(before)), a = attr_or(term, 1, Value::of_ints(after));
    if (want) {
      if (b.ints.size() != s.size() || a.ints.size() != s.size()) return false;
      for (size_t i = 0; i < s.size(); ++i)
        if ((s[i] -= b.ints[i] + a.ints[i]) < 1) return false;
      if (!make(x, s)) return false;
    }
    return finish(id, {b, a, attr_or(term, 2, Value::of_float(static_cast<double>(size())))});
  }

  bool make_enlarge(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId w = term.operands[0];
    if (want && want->size() != 4) return false;
    Shape s = want ? *want : Shape{size(), size(), between(1, 3), between(1, 3)};
    if (want) // shrink the window to get the operand
      for (size_t i : {2, 3}) s[i] -= 2 * between(0, (s[i] - 1) / 2);
    if (!known(w) && !make(w, s)) return false;
    const Shape& from = shape(w);
    if (from.size() != 4) return false;
    Value kernel = Value::of_ints({from[2] + 2 * between(0, 1), from[3] + 2 * between(0, 1)});
    if (want) kernel = Value::of_ints({(*want)[2], (*want)[3]});
    return finish(id, {attr_or(term, 0, kernel)});
  }

  bool make_merge(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    TermId w = term.operands[0];
    int64_t count = int_or(term, 0, between(1, 3));
    int64_t groups = int_or(term, 1, count * between(1, 2));
    if (want && (want->size() != 4 || count < 1 || (*want)[1] % count != 0)) return false;
    Shape s = want ? *want : Shape{groups * between(1, 2), size(), between(1, 3), between(1, 3)};
    if (want) s[1] /= count;
    return (known(w) || make(w, s)) && finish(id, {Value::of_int(count), Value::of_int(groups)});
  }

  bool make_fused(TermId id, const Shape* want) {
    const Term& term = rule_.terms[id];
    std::optional<Value> body = attr(term, 0);
    if (!body) return false;
    Shape s = want ? *want : any_shape();
    for (TermId operand : term.operands)
      if (!make(operand, s)) return false;
    return finish(id, {*body});
  }

  Symbols& symbols_;
  const Rule& rule_;
  std::mt19937_64& rng_;
  RuleInstance& in_;
  std::string& why_;
  std::vector<TypeId> types_; // of terms; invalid until made
  std::vector<Hints> class_hints_, value_hints_;
  llvm::SmallVector<Shape, 4> images_, kernels_; // of convolutions so far
};

RuleSampler::RuleSampler(Symbols& symbols, const Rule& rule, uint64_t seed)
    : symbols_(symbols), rule_(rule), rng_(seed) {}

RuleSampler::~RuleSampler() = default;

const std::string& RuleSampler::why() const { return why_; }

bool RuleSampler::attempt(RuleInstance& instance, bool conditions, const Forced& forced) {
  instance = {};
  Attempt attempt(symbols_, rule_, rng_, instance, why_);
  for (const auto& [variable, value] : forced) instance.values[variable] = symbols_.value(value);
  if (!attempt.run()) return false;
  return !conditions || conditions_hold({rule_, symbols_, instance.values, instance});
}

std::optional<RuleInstance> RuleSampler::draw(size_t attempts, const Forced& forced) {
  RuleInstance instance;
  while (attempts-- > 0)
    if (attempt(instance, true, forced)) return instance;
  return std::nullopt;
}

std::optional<RuleInstance> RuleSampler::draw_unconditioned(size_t attempts) {
  RuleInstance instance;
  while (attempts-- > 0)
    if (attempt(instance, false, {})) return instance;
  return std::nullopt;
}

namespace {

/// Terms under a root, operands first: ids ascend from operands to users.
std::vector<TermId> terms_under(const Rule& rule, TermId root) {
  std::vector<bool> needed(rule.terms.size());
  needed[root] = true;
  for (TermId id = root + 1; id-- > 0;)
    if (needed[id])
      for (TermId operand : rule.terms[id].operands) needed[operand] = true;
  std::vector<TermId> terms;
  for (TermId id = 0; id <= root; ++id)
    if (needed[id]) terms.push_back(id);
  return terms;
}

bool attributes_of(const RuleMatch& match, const Term& term, llvm::SmallVectorImpl<ValueId>& out,
                   std::string* why) {
  for (const TermAttr& attr : term.attrs) {
    std::optional<ValueId> v = attribute(match, attr);
    if (!v && why) *why = "an attribute has no value here";
    if (!v) return false;
    out.push_back(*v);
  }
  return true;
}

NodeId leaf_of(Graph& graph, const Rule& rule, const RuleInstance& instance, uint32_t variable) {
  const TensorType& type = graph.symbols().type(instance.types[variable]);
  const std::string& name = rule.class_var_names[variable];
  if (type.is_none()) return graph.none();
  if (instance.constants[variable]) return graph.constant({0.5 + variable}, type);
  return instance.weights[variable] ? graph.weight(name, type) : graph.input(name, type);
}

} // namespace

bool type_terms(Symbols& symbols, const Rule& rule, const RuleInstance& instance, TermId root,
                std::vector<TypeId>& types, std::string* why) {
  types.resize(rule.terms.size());
  RuleMatch match{rule, symbols, instance.values, instance};
  for (TermId id : terms_under(rule, root)) {
    if (types[id] != TypeId{}) continue;
    const Term& term = rule.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      types[id] = instance.types[term.variable];
      continue;
    }
    llvm::SmallVector<ValueId, 4> attrs;
    llvm::SmallVector<TypeId, 4> operands;
    for (TermId operand : term.operands) operands.push_back(types[operand]);
    if (!attributes_of(match, term, attrs, why) ||
        !infer(symbols, term.op, attrs, operands, types[id], why))
      return false;
  }
  return true;
}

NodeId build_term(Graph& graph, const Rule& rule, const RuleInstance& instance, TermId root,
                  std::vector<NodeId>& nodes, std::string* why) {
  nodes.resize(rule.terms.size());
  RuleMatch match{rule, graph.symbols(), instance.values, instance};
  for (TermId id : terms_under(rule, root)) {
    if (nodes[id].valid()) continue;
    const Term& term = rule.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      nodes[id] = leaf_of(graph, rule, instance, term.variable);
      continue;
    }
    llvm::SmallVector<ValueId, 4> attrs;
    llvm::SmallVector<NodeId, 4> operands;
    for (TermId operand : term.operands) operands.push_back(nodes[operand]);
    if (!attributes_of(match, term, attrs, why)) return {};
    nodes[id] = graph.add(term.op, attrs, operands, why);
    if (!nodes[id].valid()) return {};
  }
  return nodes[root];
}

std::vector<std::string> describe(const Symbols& symbols, const Rule& rule,
                                  const RuleInstance& instance) {
  std::vector<std::string> lines;
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    if (instance.types[v] == TypeId{}) continue;
    std::string line = rule.class_var_names[v] + ": " + symbols.type(instance.types[v]).text();
    if (instance.weights[v]) line += " (weight)";
    lines.push_back(std::move(line));
  }
  for (uint32_t v = 0; v < rule.value_vars; ++v)
    if (instance.values[v] != ValueId{})
      lines.push_back(rule.value_var_names[v] + " = " +
                      symbols.value(instance.values[v]).text_form());
  return lines;
}

} // namespace tg
