#include "compiler/rules/numerics/derived_class.h"

#include "compiler/rules/instances/sample.h"
#include "compiler/rules/numerics/traced.h"
#include "compiler/rules/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace tg {

namespace {

constexpr size_t kInstances = 16;     // of derive_class
constexpr size_t kAttempts = 2000;    // for one draw
constexpr int64_t kMaxWork = 400'000; // limit on products and sums of an instance
constexpr double kSlack = 1 + 1e-9;   // sizes are sums in float64

using Elements = std::vector<Traced>;

/// Returns the approximate number of sums and products of the node.
int64_t work(const Graph& graph, NodeId id) {
  int64_t elements = graph.type(id).elements();
  llvm::ArrayRef<NodeId> operands = graph.operands(id);
  auto elements_of = [&](size_t i) { return graph.type(operands[i]).elements(); };
  switch (op_info(graph.node(id).op).work) {
  case Work::mnk2: return elements * graph.type(operands[0]).shape.back();
  case Work::attention: {
    int64_t width = graph.type(operands[0]).shape.back(), values = graph.type(id).shape.back();
    return elements / values * graph.type(operands[1]).shape.back() * (width + values);
  }
  case Work::conv: return elements * elements_of(1) / graph.type(operands[1])[0];
  case Work::conv_transpose: return elements_of(0) * elements_of(1) / graph.type(operands[1])[0];
  case Work::winograd: return 4 * elements * graph.type(operands[1])[2];
  default:
    for (size_t i = 0; i < operands.size(); ++i)
      if (!graph.type(operands[i]).is_none()) elements = std::max(elements, elements_of(i));
    return elements;
  }
}

/// Computes the elements of nodes as expressions; leaves are class variables of the rule.
class Tracer {
public:
  Tracer(const Rule& rule, const Graph& graph)
      : rule_(rule), graph_(graph), values_(graph.size()), dropped_(graph.size()) {}

  void run(llvm::ArrayRef<NodeId> roots) {
    std::vector<bool> needed = below(roots);
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed[i] && !graph_.type({i}).is_none()) {
        values_[i] = compute({i});
        dropped_[i] = Expressions::current().take_dropped();
        if (!of_floats({i}) || filters_minimally(graph_.node({i}).op)) dropped_[i].clear();
      }
  }

  const Elements& of(NodeId id) const { return values_[id.index]; }
  /// Returns the values that nodes below multiply by zero and that may not be finite.
  llvm::DenseSet<uint64_t> dropped(llvm::ArrayRef<NodeId> roots) const {
    llvm::DenseSet<uint64_t> found;
    std::vector<bool> needed = below(roots);
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed[i]) found.insert(dropped_[i].begin(), dropped_[i].end());
    return found;
  }
  /// Returns the floats that are compared with themselves below, by node.
  std::set<uint32_t> nan_tests(llvm::ArrayRef<NodeId> roots) const {
    std::set<uint32_t> found;
    std::vector<bool> needed = below(roots);
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      OpKind op = graph_.node({i}).op;
      bool compares = op == OpKind::Equal || op == OpKind::NotEqual;
      if (!needed[i] || !compares || graph_.operands({i})[0] != graph_.operands({i})[1]) continue;
      if (is_float(graph_.type(graph_.operands({i})[0]).dtype))
        found.insert(graph_.operands({i})[0].index);
    }
    return found;
  }
  /// Returns the values that a cast truncated although this dtype could have held more.
  std::set<uint32_t> cut(DType result) const {
    std::set<uint32_t> found;
    for (auto [value, to] : casts_)
      if (!holds_all(to, result)) found.insert(value);
    return found;
  }

private:
  std::vector<bool> below(llvm::ArrayRef<NodeId> roots) const {
    std::vector<bool> needed(graph_.size());
    for (NodeId root : roots) needed[root.index] = true;
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;)
      if (needed[i])
        for (NodeId operand : graph_.operands({i})) needed[operand.index] = true;
    return needed;
  }

  /// Returns true for operators with their own algorithm (as_convolution).
  static bool filters_minimally(OpKind op) {
    return op == OpKind::WinogradConv2d || op == OpKind::WinogradWeight;
  }

  bool of_floats(NodeId id) const {
    auto is = [&](NodeId node) { return is_float(graph_.type(node).dtype); };
    return is(id) || llvm::any_of(graph_.operands(id), is);
  }

  Elements compute(NodeId id) {
    const TensorType& type = graph_.type(id);
    switch (graph_.node(id).op) {
    case OpKind::Input:
    case OpKind::Weight: return leaf(id);
    case OpKind::Constant: return constant(id);
    case OpKind::Cast: return cast(id);
    default: break;
    }
    llvm::SmallVector<const Value*, 4> attrs = graph_.attr_values(id);
    Elements result = apply(graph_.node(id).op, attrs, graph_.operands(id), type);
    if (graph_.node(id).op == OpKind::WinogradConv2d) as_convolution(id, result);
    for (Traced& x : result) x = stored(id, x);
    return result;
  }

  Traced stored(NodeId id, Traced x) const {
    Expressions& all = Expressions::current();
    DType dtype = graph_.type(id).dtype;
    OpKind op = graph_.node(id).op;
    if (is_float(dtype)) return all.store(dtype, x);
    x.reads = 0; // neither infinite nor NaN, whatever its inputs are
    if (op == OpKind::Gather && all.node(x.value).kind == Expressions::Kind::NaN) return {};
    auto is_div = [&](uint32_t at) { return all.node(at).kind == Expressions::Kind::Div; };
    const Expressions::Node& node = all.node(x.value); // x / 1 is x
    bool divided = is_div(x.value) || (node.kind == Expressions::Kind::Neg && is_div(node.args[0]));
    bool quotient = op == OpKind::Div && is_integer(dtype) && divided; // rounded down
    if (quotient) x = all.call(static_cast<uint32_t>(OpKind::Floor), {x}, 0);
    return all.store_whole(dtype, x);
  }

  Elements apply(OpKind op, AttrValues attrs, llvm::ArrayRef<NodeId> operands,
                 const TensorType& type) const {
    llvm::SmallVector<ConstView<Traced>, 5> views;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 5> shapes;
    for (NodeId operand : operands) {
      shapes.push_back(graph_.type(operand).shape);
      bool none = graph_.type(operand).is_none();
      views.push_back({none ? nullptr : of(operand).data(), shapes.back()});
    }
    Elements result(static_cast<size_t>(type.elements()));
    Elements scratch(static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape)));
    evaluate_op<Traced>(op, attrs, views, {result.data(), type.shape}, scratch);
    return result;
  }

  /// Replaces minimal filtering, which has its own algorithm, by its convolution: it has the same
  /// sizes, and its larger error is documented by the operator (docs/rules.md).
  void as_convolution(NodeId id, Elements& result) const {
    llvm::ArrayRef<NodeId> given = graph_.operands(id);
    if (graph_.node(given[1]).op != OpKind::WinogradWeight) return;
    llvm::SmallVector<NodeId, 4> operands(given.begin(), given.end());
    operands[1] = graph_.operands(given[1])[0];
    const Value one = Value::of_ints({1, 1});
    Elements plain = apply(OpKind::Conv2d, {&one, &graph_.attr(id, 0), &one, &graph_.attr(id, 1)},
                           operands, graph_.type(id));
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = Expressions::current().sized(result[i], plain[i]);
  }

  Elements leaf(NodeId id) const {
    auto name = llvm::find(rule_.class_var_names, graph_.attr(id, 0).text);
    uint64_t variable = static_cast<uint64_t>(name - rule_.class_var_names.begin());
    Elements values(static_cast<size_t>(graph_.type(id).elements()));
    for (uint32_t i = 0; i < values.size(); ++i)
      values[i] = Expressions::current().leaf(variable, i, graph_.type(id).dtype);
    return values;
  }

  Elements constant(NodeId id) const {
    Elements values;
    for (double real : graph_.attr(id, 0).reals) values.push_back(Math<Traced>::literal(real));
    for (int64_t whole : graph_.attr(id, 0).ints) values.push_back(Math<Traced>::integer(whole));
    for (Traced& x : values) x = stored(id, x);
    if (values.size() == 1)
      values.assign(static_cast<size_t>(graph_.type(id).elements()), values[0]);
    return values;
  }

  Elements cast(NodeId id) {
    NodeId operand = graph_.operands(id)[0];
    DType from = graph_.type(operand).dtype, to = graph_.type(id).dtype;
    Elements values = of(operand);
    for (Traced& x : values) {
      Traced before = x;
      x = Expressions::current().cast(from, to, x);
      if (x.value != before.value) casts_[x.value] = to;
      if (!is_float(to)) x = Expressions::current().store_whole(to, x);
    }
    return values;
  }

  const Rule& rule_;
  const Graph& graph_;
  std::vector<Elements> values_;                  // by node
  std::vector<llvm::DenseSet<uint64_t>> dropped_; // by node
  std::map<uint32_t, DType> casts_;
};

/// Visits an expression and its subexpressions once each, outermost first; `visit` returns true to
/// visit the operands.
void walk(uint32_t value, llvm::function_ref<bool(uint32_t)> visit) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> open = {value};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    if (!visit(at)) continue;
    const Expressions::Node& node = Expressions::current().node(at);
    open.insert(open.end(), node.args.begin(), node.args.end());
  }
}

/// Returns those of `marked` that occur in the expression.
std::set<uint32_t> marked_in(uint32_t value, const std::set<uint32_t>& marked) {
  std::set<uint32_t> found;
  if (marked.empty()) return found;
  walk(value, [&](uint32_t at) {
    if (marked.count(at)) found.insert(at);
    return true;
  });
  return found;
}

/// Returns the values that the expression rounds to floats of fewer digits than its result has. Of
/// values computed from one another only the last is included, since the others differ by the
/// order of sums.
llvm::DenseSet<uint64_t> narrowed(uint32_t value, DType result) {
  llvm::DenseSet<uint64_t> found;
  walk(value, [&](uint32_t at) {
    const Expressions::Node& node = Expressions::current().node(at);
    const bool narrow =
        node.kind == Expressions::Kind::Round && !holds_all(static_cast<DType>(node.op), result);
    if (narrow) found.insert(node.plain);
    return !narrow;
  });
  return found;
}

/// Values that are rounded to a float dtype, by dtype.
using RoundedValues = std::set<std::pair<DType, uint64_t>>;

/// Returns the values that the expression rounds. With `casts`, returns only non-literals that were
/// stored in a dtype that holds them exactly: a cast truncates these.
RoundedValues rounded_in(uint32_t value, bool casts) {
  RoundedValues found;
  walk(value, [&](uint32_t at) {
    const Expressions::Node& node = Expressions::current().node(at);
    if (node.kind != Expressions::Kind::Round) return true;
    const Expressions::Node& arg = Expressions::current().node(node.args[0]);
    const bool cast = arg.held != 0 && arg.kind != Expressions::Kind::Literal;
    if (cast || !casts) found.insert({static_cast<DType>(node.op), node.plain});
    return true;
  });
  return found;
}

/// Returns true if a cast of the right side truncates a value that the left side computes with
/// more digits.
bool cuts_more(uint32_t left, uint32_t right) {
  const RoundedValues on_left = rounded_in(left, /*casts=*/false);
  return llvm::any_of(rounded_in(right, /*casts=*/true), [&](const auto& cut) {
    return llvm::none_of(on_left, [&](const auto& known) {
      return known.second == cut.second && holds_all(cut.first, known.first);
    });
  });
}

bool beyond(const llvm::DenseSet<uint64_t>& of, const llvm::DenseSet<uint64_t>& than) {
  return llvm::any_of(of, [&](uint64_t plain) { return !than.contains(plain); });
}

uint32_t variable_of(uint64_t leaf) { return static_cast<uint32_t>(leaf >> 32); }

} // namespace

struct ClassDerivation::Sides {
  const Graph& graph;
  const Tracer& tracer;
  llvm::ArrayRef<NodeId> left, right;
  bool floats; // anywhere
  bool narrow; // several dtypes, some of which hold more than others
  std::string where;
};

void ClassDerivation::weaken(Numerics to, std::string why) {
  if (to <= numerics_) return;
  numerics_ = to;
  why_ = std::move(why);
}

void ClassDerivation::look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& given) {
  RuleInstance instance = given;
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    if (instance.constants[v]) { // any number, not the representative
      instance.constants[v] = false;
      instance.weights[v] = true;
    }
  Graph graph(symbols, "rule");
  std::vector<NodeId> nodes;
  llvm::SmallVector<NodeId, 2> left, right;
  for (TermId root : rule_.lhs) left.push_back(build_term(graph, rule_, instance, root, nodes));
  for (TermId root : rule_.rhs) right.push_back(build_term(graph, rule_, instance, root, nodes));
  for (size_t i = 0; i < left.size(); ++i)
    if (!left[i].valid() || !right[i].valid() || !(graph.type(left[i]) == graph.type(right[i])))
      return;
  int64_t all_work = 0;
  bool floats = false;
  std::set<DType> dtypes;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.type({i}).is_none()) continue;
    all_work += work(graph, {i});
    dtypes.insert(graph.type({i}).dtype);
    floats |= is_float(graph.type({i}).dtype);
  }
  if (all_work > kMaxWork) return;
  Expressions expressions;
  Tracer tracer(rule_, graph);
  llvm::SmallVector<NodeId, 4> roots(left.begin(), left.end());
  roots.append(right);
  tracer.run(roots);
  std::string where = llvm::join(describe(*symbols, rule_, given), ", ");
  compare_dropped(tracer.dropped(left), tracer.dropped(right), where);
  Sides sides{graph, tracer, left, right, floats, dtypes.size() > 1, where};
  compare_nan_tests(sides);
  for (size_t i = 0; i < left.size(); ++i) compare(sides, i);
}

void ClassDerivation::compare_dropped(const llvm::DenseSet<uint64_t>& left,
                                      const llvm::DenseSet<uint64_t>& right,
                                      const std::string& where) {
  if (beyond(right, left))
    weaken(Numerics::Risky,
           "the right side multiplies a value that may overflow or be NaN by zero, at " + where);
  if (beyond(left, right))
    weaken(Numerics::Reassociates,
           "the left side multiplies a value that may overflow or be NaN by zero, at " + where);
}

/// x == x is treated as true, which is correct except for NaN. If only one side of an exact rule
/// tests this, the rule assumes finite tensors.
void ClassDerivation::compare_nan_tests(const Sides& sides) {
  const Tracer& tracer = sides.tracer;
  std::set<uint32_t> on_left = tracer.nan_tests(sides.left), one_sided;
  std::set<uint32_t> on_right = tracer.nan_tests(sides.right);
  std::set_symmetric_difference(on_left.begin(), on_left.end(), on_right.begin(), on_right.end(),
                                std::inserter(one_sided, one_sided.end()));
  for (uint32_t node : one_sided)
    for (Traced x : tracer.of({node}))
      for (uint64_t leaf : Expressions::current().leaves(x.reads))
        finite_.insert(variable_of(leaf));
}

void ClassDerivation::compare(const Sides& at, size_t root) {
  const Expressions& all = Expressions::current();
  const Elements &left = at.tracer.of(at.left[root]), &right = at.tracer.of(at.right[root]);
  DType result = at.graph.type(at.left[root]).dtype;
  std::set<uint32_t> cut = at.tracer.cut(result);
  for (size_t i = 0; i < left.size(); ++i) {
    Traced a = left[i], b = right[i];
    std::vector<uint64_t> read_left = all.leaves(a.reads);
    std::vector<uint64_t> read_right = a.reads == b.reads ? read_left : all.leaves(b.reads);
    std::vector<uint64_t> more, less;
    llvm::ArrayRef<uint64_t> l = read_left, r = read_right;
    std::set_difference(r.begin(), r.end(), l.begin(), l.end(), std::back_inserter(more));
    std::set_difference(l.begin(), l.end(), r.begin(), r.end(), std::back_inserter(less));
    for (uint64_t leaf : l) left_reads_.insert(variable_of(leaf));
    for (uint64_t leaf : r) right_reads_.insert(variable_of(leaf));
    for (uint64_t leaf : more) spreads_.insert(variable_of(leaf));
    for (uint64_t leaf : more) finite_.insert(variable_of(leaf));
    for (uint64_t leaf : less) finite_.insert(variable_of(leaf));
    if (a.value == b.value) continue;
    const Expressions::Node &x = all.node(a.value), &y = all.node(b.value);
    if (y.raises && beyond(all.exponents(b.value), all.exponents(a.value)))
      weaken(Numerics::Risky, "the right side has an exponential, which may overflow, where the "
                              "left side has none, at " +
                                  at.where);
    if (!cut.empty() && marked_in(a.value, cut) != marked_in(b.value, cut))
      weaken(Numerics::Lossy, "only one side truncates digits by a cast, at " + at.where);
    else if (at.narrow && (beyond(narrowed(b.value, result), narrowed(a.value, result)) ||
                           cuts_more(a.value, b.value)))
      weaken(Numerics::Lossy, "only the right side computes in a narrower type, at " + at.where);
    else if (at.floats && x.plain != y.plain) // integers are equal wherever the rule holds
      weaken(Numerics::Risky,
             "its sides are equal only by identities of functions or quotients over the "
             "reals, at " +
                 at.where);
    else if (at.floats && y.size > kSlack * x.size)
      weaken(Numerics::Risky, "the right side goes through larger terms, at " + at.where);
    else if (at.floats && y.jumps && beyond(steps_of(all, b.value), steps_of(all, a.value)))
      weaken(Numerics::Risky, "the right side compares or rounds to integers values that it "
                              "computes in another order, at " +
                                  at.where);
    else if (at.floats)
      weaken(Numerics::Reassociates, "its sides round at different points, at " + at.where);
  }
}

ClassDerivation::Derived ClassDerivation::result() const {
  Derived derived{numerics_, why_, {}, {}};
  derived.finite.append(finite_.begin(), finite_.end());
  derived.spreads.append(spreads_.begin(), spreads_.end());
  auto risky = [&](std::string why) {
    if (derived.numerics >= Numerics::Risky) return;
    derived.numerics = Numerics::Risky;
    derived.why = std::move(why);
  };
  for (uint32_t variable : left_reads_)
    if (!right_reads_.count(variable) && !llvm::is_contained(rule_.finite, variable))
      risky(llvm::formatv("the right side no longer reads `{0}`, which cancels only over the reals",
                          rule_.class_var_names[variable]));
  return derived;
}

llvm::ArrayRef<uint32_t> must_be_finite(const ClassDerivation::Derived& derived, Numerics stated) {
  if (stated == Numerics::Exact) return derived.finite;
  if (stated == Numerics::Reassociates) return derived.spreads;
  return {}; // promises nothing
}

std::string class_fault(const Rule& rule, const ClassDerivation::Derived& derived) {
  if (!rule.stated) return "";
  llvm::StringRef stated = numerics_name(rule.numerics);
  if (derived.numerics > rule.numerics)
    return llvm::formatv("the rule is stated `{0}`, but by its operators it is `{1}`: {2}", stated,
                         numerics_name(derived.numerics), derived.why);
  std::vector<std::string> lacking;
  for (uint32_t variable : must_be_finite(derived, rule.numerics))
    if (!llvm::is_contained(rule.finite, variable))
      lacking.push_back("finite(" + rule.class_var_names[variable] + ")");
  if (lacking.empty()) return "";
  return llvm::formatv(
      "the rule is stated `{0}`, but it is so only `where {1}`: its sides do not read "
      "the same elements, and an infinity or NaN times zero is not zero",
      stated, llvm::join(lacking, ", "));
}

ClassDerivation::Derived derive_class(const Rule& rule) {
  auto symbols = std::make_shared<Symbols>();
  ClassDerivation derivation(rule);
  RuleSampler sampler(*symbols, rule, key_of_text(rule.name), SampledDTypes::Any);
  for (size_t i = 0; i < kInstances; ++i) {
    std::optional<RuleInstance> instance = sampler.draw(kAttempts);
    if (!instance) break;
    derivation.look(symbols, *instance);
  }
  return derivation.result();
}

} // namespace tg
