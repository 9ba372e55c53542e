#include "compiler/rules/instances/kinds.h"

#include "compiler/rules/instances/partition.h"
#include "lang/core/semantics/walk.h"
#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

using semantics::product;

namespace {

/// The word of one subject. Features are numbered in the order of the calls, so that each call in
/// the code below has its own bits.
class Word {
public:
  void flag(bool holds) { choose(holds ? 0 : 1, 2); }
  /// Sets one of `count` bits; the last stands for all larger values.
  void choose(int64_t which, int count) {
    bits_ |= uint64_t{1} << std::min<int64_t>(next_ + std::clamp<int64_t>(which, 0, count - 1), 63);
    next_ += count;
  }
  void some(bool holds) {
    if (holds) bits_ |= uint64_t{1} << std::min(next_, 63);
    ++next_;
  }
  uint64_t bits() const { return bits_; }

private:
  uint64_t bits_ = 0;
  int next_ = 0;
};

bool prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

bool all_alike(llvm::ArrayRef<int64_t> list) {
  return llvm::all_of(list, [&](int64_t n) { return n == list[0]; });
}

/// Returns 0 for 1, 1 for odd, 2 for even.
int64_t parity(int64_t n) { return n == 1 ? 0 : n % 2 ? 1 : 2; }

uint64_t tensor_kinds(const TensorType& type) {
  Word word;
  word.flag(type.is_none());
  if (type.is_none()) return word.bits();
  word.choose(static_cast<int64_t>(type.dtype), 7);
  word.choose(type.rank(), 6);
  if (type.rank() == 0) return word.bits();
  word.some(llvm::is_contained(type.shape, 1));
  word.some(llvm::any_of(type.shape, prime));
  word.some(llvm::any_of(type.shape, [](int64_t n) { return n > 1 && !prime(n); }));
  word.flag(all_alike(type.shape));
  word.some(type.shape.front() == 1);
  word.some(type.shape.back() == 1);
  return word.bits();
}

/// Returns the kinds of a tensor's origin, and of the numbers of a constant.
uint64_t origin_kinds(const RuleInstance& instance, uint32_t v) {
  Word word;
  word.choose(instance.constants[v] ? 0 : instance.weights[v] ? 1 : 2, 3);
  if (!instance.constants[v] || v >= instance.literals.size()) return word.bits();
  word.flag(instance.literals[v].size() > 1);
  uint64_t bits = word.bits();
  for (double x : instance.literals[v])
    bits |= uint64_t{1} << (8 + static_cast<size_t>(partition_of(x)));
  return bits;
}

uint64_t pad_kinds(const Value& value) {
  Word word;
  if (value.is(Value::Kind::Enum)) {
    word.choose(value.text == "same", 2);
    return word.bits();
  }
  word.choose(2, 3);
  llvm::ArrayRef<int64_t> pad = value.ints;
  if (pad.size() != 4) return word.bits();
  bool zero = product({pad[0] + pad[1] + pad[2] + pad[3]}) == 0;
  word.choose(zero ? 0 : pad[0] == pad[2] && pad[1] == pad[3] ? 1 : 2, 3);
  word.flag(pad[0] == pad[1]);
  for (int64_t n : pad) word.flag(n > 0);
  return word.bits();
}

uint64_t list_kinds(llvm::ArrayRef<int64_t> list) {
  Word word;
  word.choose(static_cast<int64_t>(list.size()), 6);
  if (list.empty()) return word.bits();
  word.some(llvm::is_contained(list, 0));
  word.some(llvm::is_contained(list, 1));
  word.flag(all_alike(list));
  word.flag(std::is_sorted(list.begin(), list.end()));
  word.choose(list.front(), 3);
  return word.bits();
}

uint64_t attribute_kinds_of(AttrKind kind, const Value& value) {
  Word word;
  switch (value.kind) {
  case Value::Kind::Bool: word.flag(value.number != 0); break;
  case Value::Kind::Float:
    word.choose(static_cast<int64_t>(partition_of(value.real)), kPartitions);
    word.flag(value.real < 0);
    break;
  case Value::Kind::Int: word.choose(value.number, 5); break;
  case Value::Kind::Enum:
    if (kind == AttrKind::pad) return pad_kinds(value);
    if (const auto* at = llvm::find(enum_members(kind), value.text))
      word.choose(at - enum_members(kind).begin(), 12);
    break;
  case Value::Kind::Ints:
    if (kind == AttrKind::pad) return pad_kinds(value);
    if (kind != AttrKind::pair) return list_kinds(value.ints);
    for (int64_t n : value.ints) word.choose(n - 1, 3);
    word.flag(all_alike(value.ints));
    break;
  default: break;
  }
  return word.bits();
}

// --- operators -----------------------------------------------------------------------------------

/// A typed operator of either side.
struct Operator {
  OpKind op;
  std::vector<const Value*> attrs; // null if computed and unknown
  std::vector<const TensorType*> operands;
  const TensorType* result = nullptr;
};

void sliding_kinds(Word& word, int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                   const Value& pad, int axis) {
  std::optional<Window> w = window(size, kernel, stride, dilation, pad, axis);
  if (!w) return;
  int64_t reach = (kernel - 1) * dilation + 1;
  word.choose(parity(kernel), 3);
  word.flag(w->before > 0);
  word.flag(w->after > 0);
  word.some(w->before >= kernel || w->after >= kernel); // a window outside the image
  word.some((size + w->before + w->after - reach) % stride != 0);
  word.choose(stride < kernel ? 0 : stride == kernel ? 1 : 2, 3);
  word.flag(w->out == 1);
  word.some(dilation > 1 && kernel > 1);
  word.some(stride > 1 && w->out > 1);
}

void conv_kinds(Word& word, const Operator& o) {
  const TensorType &x = *o.operands[0], &w = *o.operands[1];
  int64_t groups = x[1] / std::max<int64_t>(w[1], 1);
  word.choose(groups == 1 ? 0 : w[1] == 1 ? 1 : 2, 3);
  word.flag(w[2] == w[3]);
  for (int axis : {0, 1})
    if (o.attrs[0] && o.attrs[1] && o.attrs[2])
      sliding_kinds(word, x[2 + axis], w[2 + axis], o.attrs[0]->ints[axis], o.attrs[2]->ints[axis],
                    *o.attrs[1], axis);
}

void conv3d_kinds(Word& word, const Operator& o) {
  const TensorType &x = *o.operands[0], &w = *o.operands[1];
  int64_t groups = x[1] / std::max<int64_t>(w[1], 1);
  word.choose(groups == 1 ? 0 : w[1] == 1 ? 1 : 2, 3);
  for (size_t axis : {2, 3, 4}) word.choose(parity(w[axis]), 3);
}

void conv_transpose_kinds(Word& word, const Operator& o) {
  const TensorType& w = *o.operands[1];
  if (o.attrs[4]) word.choose(o.attrs[4]->number == 1 ? 0 : o.attrs[4]->number == w[0] ? 1 : 2, 3);
  for (int axis : {0, 1}) {
    if (!o.attrs[0]) return;
    int64_t stride = o.attrs[0]->ints[axis], kernel = w[2 + axis];
    word.choose(parity(kernel), 3);
    word.choose(stride < kernel ? 0 : stride == kernel ? 1 : 2, 3);
    if (o.attrs[2]) word.flag(o.attrs[2]->ints[axis] > 0);
  }
}

void pool_kinds(Word& word, const Operator& o) {
  const TensorType& x = *o.operands[0];
  if (!o.attrs[0] || !o.attrs[1] || !o.attrs[2]) return;
  word.flag(all_alike(o.attrs[0]->ints));
  for (int axis : {0, 1})
    sliding_kinds(word, x[2 + axis], o.attrs[0]->ints[axis], o.attrs[1]->ints[axis], 1, *o.attrs[2],
                  axis);
}

void broadcast_kinds(Word& word, const Operator& o) {
  for (const TensorType* operand : o.operands) {
    word.flag(operand->shape == o.result->shape);
    word.some(operand->rank() == 0);
    word.some(operand->rank() < o.result->rank());
    bool stretched = false;
    for (int64_t i = 1; i <= operand->rank(); ++i)
      stretched |= operand->shape[operand->rank() - i] != o.result->shape[o.result->rank() - i];
    word.flag(stretched);
    for (int64_t i = 1; i <= 3; ++i) // the axes along which it varies, from the last
      word.flag(i <= operand->rank() && operand->shape[operand->rank() - i] > 1);
  }
}

void matmul_kinds(Word& word, const Operator& o) {
  const TensorType &x = *o.operands[0], &y = *o.operands[1];
  if (x.rank() < 2 || y.rank() < 2) return;
  int64_t m = x[x.rank() - 2], k = x.shape.back(), n = y.shape.back();
  for (int64_t size : {m, k, n}) word.flag(size == 1);
  word.flag(m == k);
  word.flag(k == n);
  word.choose((x.rank() > 2) + 2 * (y.rank() > 2), 4);
  word.flag(x.rank() == y.rank());
  word.flag(product(x.shape) == product(llvm::ArrayRef<int64_t>(o.result->shape).drop_back()) * k);
}

/// The factors by which sizes are regrouped.
void reshape_kinds(Word& word, const Operator& o) {
  auto without_ones = [](llvm::ArrayRef<int64_t> shape) {
    Shape rest;
    for (int64_t n : shape)
      if (n != 1) rest.push_back(n);
    return rest;
  };
  auto ends = [](llvm::ArrayRef<int64_t> shape) { // of the axes, as positions
    llvm::SmallVector<int64_t, 5> at;
    int64_t n = 1;
    for (int64_t size : shape) at.push_back(n *= size);
    return at;
  };
  const Shape &from = o.operands[0]->shape, &to = o.result->shape;
  Shape a = without_ones(from), b = without_ones(to);
  auto within = [&](const Shape& few, const Shape& many) {
    return llvm::all_of(ends(few), [&](int64_t n) { return llvm::is_contained(ends(many), n); });
  };
  word.choose(from == to ? 0 : a == b ? 1 : within(a, b) ? 2 : within(b, a) ? 3 : 4, 5);
  word.choose(from.size() < to.size() ? 0 : from.size() == to.size() ? 1 : 2, 3);
  word.flag(!from.empty() && !to.empty() && from.back() == to.back());
  word.some(to.size() == 1);
}

void transpose_kinds(Word& word, const Operator& o) {
  if (!o.attrs[0]) return;
  llvm::ArrayRef<int64_t> perm = o.attrs[0]->ints;
  bool moved = !std::is_sorted(perm.begin(), perm.end()), involution = true;
  for (size_t i = 0; i < perm.size(); ++i)
    involution &= perm[static_cast<size_t>(perm[i])] == static_cast<int64_t>(i);
  word.choose(!moved ? 0 : involution ? 1 : 2, 3);
  word.some(moved && all_alike(o.operands[0]->shape));
  word.some(moved && !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1);
}

/// The position of an axis among those of a tensor.
void axis_kinds(Word& word, const Value* axis, const TensorType& of) {
  if (!axis || axis->number < 0 || axis->number >= of.rank()) return;
  word.some(axis->number == 0);
  word.some(axis->number == of.rank() - 1);
  word.some(axis->number > 0 && axis->number < of.rank() - 1);
  word.flag(of[static_cast<size_t>(axis->number)] == 1);
}

void concat_kinds(Word& word, const Operator& o) {
  axis_kinds(word, o.attrs[0], *o.result);
  if (!o.attrs[0] || o.attrs[0]->number < 0) return;
  auto axis = static_cast<size_t>(o.attrs[0]->number);
  auto part = [&](size_t i) { return (*o.operands[i])[axis]; };
  for (size_t i = 0; i < o.operands.size(); ++i) {
    word.flag(part(i) == part(0));
    word.some(part(i) == 1);
  }
}

void slice_kinds(Word& word, const Operator& o) {
  axis_kinds(word, o.attrs[0], *o.operands[0]);
  if (!o.attrs[0] || !o.attrs[1] || !o.attrs[2] || o.attrs[0]->number < 0) return;
  int64_t size = (*o.operands[0])[static_cast<size_t>(o.attrs[0]->number)];
  word.flag(o.attrs[1]->number == 0);
  word.flag(o.attrs[2]->number == size);
  word.flag(o.attrs[2]->number - o.attrs[1]->number == 1);
}

void reduce_kinds(Word& word, const Operator& o) {
  if (!o.attrs[0]) return;
  const TensorType& x = *o.operands[0];
  llvm::SmallVector<int64_t, 4> axes; // a literal may count from the end
  for (int64_t axis : o.attrs[0]->ints) axes.push_back(axis < 0 ? axis + x.rank() : axis);
  if (llvm::any_of(axes, [&](int64_t axis) { return axis < 0 || axis >= x.rank(); })) return;
  word.choose(static_cast<int64_t>(axes.size()) - 1, 3);
  word.flag(static_cast<int64_t>(axes.size()) == x.rank());
  word.flag(llvm::is_contained(axes, 0));
  word.flag(llvm::is_contained(axes, x.rank() - 1));
  word.some(llvm::any_of(axes, [&](int64_t axis) { return x[static_cast<size_t>(axis)] == 1; }));
}

void pad_op_kinds(Word& word, const Operator& o) {
  for (size_t slot : {0, 1}) {
    if (!o.attrs[slot]) return;
    llvm::ArrayRef<int64_t> ints = o.attrs[slot]->ints;
    word.flag(llvm::any_of(ints, [](int64_t n) { return n > 0; }));
    word.flag(llvm::any_of(ints.drop_back(std::min<size_t>(2, ints.size())),
                           [](int64_t n) { return n > 0; }));
  }
  word.flag(o.attrs[0]->ints == o.attrs[1]->ints);
}

/// Adds the kinds of a move that has none of its own: its axis, and which numbers are 1.
void move_kinds(Word& word, const Operator& o) {
  const OpInfo& info = op_info(o.op);
  for (size_t slot = 0; info.has(Trait::Layout) && slot < o.attrs.size(); ++slot) {
    AttrKind kind = info.attrs()[slot].kind;
    if (kind == AttrKind::axis) axis_kinds(word, o.attrs[slot], *o.operands[0]);
    if (kind == AttrKind::integer && o.attrs[slot]) word.flag(o.attrs[slot]->number == 1);
  }
}

uint64_t operator_kinds(const Operator& o) {
  Word word;
  switch (op_info(o.op).shape) {
  case ShapeRule::conv2d: conv_kinds(word, o); break;
  case ShapeRule::conv3d: conv3d_kinds(word, o); break;
  case ShapeRule::conv_transpose2d: conv_transpose_kinds(word, o); break;
  case ShapeRule::pool2d: pool_kinds(word, o); break;
  case ShapeRule::broadcast:
  case ShapeRule::compare:
  case ShapeRule::select:
  case ShapeRule::broadcast_to: broadcast_kinds(word, o); break;
  case ShapeRule::matmul: matmul_kinds(word, o); break;
  case ShapeRule::attention: matmul_kinds(word, o); break;
  case ShapeRule::reshape: reshape_kinds(word, o); break;
  case ShapeRule::transpose: transpose_kinds(word, o); break;
  case ShapeRule::concat: concat_kinds(word, o); break;
  case ShapeRule::slice: slice_kinds(word, o); break;
  case ShapeRule::reduce: reduce_kinds(word, o); break;
  case ShapeRule::pad: pad_op_kinds(word, o); break;
  case ShapeRule::gather:
    axis_kinds(word, o.attrs[0], *o.operands[0]);
    word.choose(o.operands[1]->rank(), 3);
    break;
  case ShapeRule::softmax:
  case ShapeRule::argmax:
  case ShapeRule::top_k:
  case ShapeRule::scatter: axis_kinds(word, o.attrs[0], *o.operands[0]); break;
  case ShapeRule::enlarge:
  case ShapeRule::merge_gconv: word.flag(o.operands[0]->shape == o.result->shape); break;
  default: move_kinds(word, o); break;
  }
  return word.bits();
}

uint64_t pair_kinds(const TensorType& a, const TensorType& b) {
  Word word;
  word.flag(a.shape == b.shape);
  word.choose(a.rank() < b.rank() ? 0 : a.rank() == b.rank() ? 1 : 2, 3);
  if (a.rank() == 0 || b.rank() == 0) return word.bits();
  word.flag(a.shape.front() == b.shape.front());
  word.flag(a.shape.back() == b.shape.back());
  return word.bits();
}

} // namespace

std::vector<std::optional<AttrKind>> attribute_kinds(const Rule& rule) {
  std::vector<std::optional<AttrKind>> kinds(rule.value_vars);
  for (const Term& term : rule.terms)
    for (size_t slot = 0; slot < term.attrs.size(); ++slot)
      if (term.attrs[slot].kind == TermAttr::Kind::Variable)
        kinds[term.attrs[slot].variable] = op_info(term.op).attrs()[slot].kind;
  return kinds;
}

RuleKinds::RuleKinds(const Symbols& symbols, const Rule& rule)
    : symbols_(symbols), rule_(rule), count_(rule.class_vars),
      pairs_(count_ * (count_ - std::min<size_t>(count_, 1)) / 2),
      attr_kinds_(attribute_kinds(rule)) {}

RuleKinds::Set RuleKinds::of(const RuleInstance& instance, llvm::ArrayRef<TypeId> types) const {
  Set set;
  set.reserve(subjects());
  TensorType none;
  auto type_of = [&](uint32_t v) -> const TensorType& {
    return instance.types[v] == TypeId{} ? none : symbols_.type(instance.types[v]);
  };
  for (uint32_t v = 0; v < rule_.class_vars; ++v) {
    set.push_back(tensor_kinds(type_of(v)));
    set.push_back(type_of(v).is_none() ? 0 : origin_kinds(instance, v));
  }
  for (uint32_t v = 0; v < rule_.value_vars; ++v) {
    bool known = instance.values[v] != ValueId{} && attr_kinds_[v];
    set.push_back(known ? attribute_kinds_of(*attr_kinds_[v], symbols_.value(instance.values[v]))
                        : 0);
  }
  for (TermId id = 0; id < rule_.terms.size(); ++id) {
    const Term& term = rule_.terms[id];
    set.push_back(0);
    if (term.kind != Term::Kind::Op || types[id] == TypeId{}) continue;
    Operator o{term.op, {}, {}, &symbols_.type(types[id])};
    for (const TermAttr& attr : term.attrs) {
      bool bound = attr.kind == TermAttr::Kind::Variable;
      o.attrs.push_back(attr.kind == TermAttr::Kind::Literal ? &attr.literal
                        : bound ? &symbols_.value(instance.values[attr.variable])
                                : nullptr);
    }
    for (TermId operand : term.operands) o.operands.push_back(&symbols_.type(types[operand]));
    set.back() = operator_kinds(o);
  }
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    for (uint32_t w = v + 1; w < rule_.class_vars; ++w) {
      bool both = !type_of(v).is_none() && !type_of(w).is_none();
      set.push_back(both ? pair_kinds(type_of(v), type_of(w)) : 0);
    }
  return set;
}

} // namespace tg
