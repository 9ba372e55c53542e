// Implements open_graph.h. Graphs are hash-consed, so graphs of one structure have one-to-one
// nodes: a walk from inputs and outputs pairs them up, as in graph_equal.cpp.
#include "compiler/ir/open_graph.h"

#include "compiler/ir/text/body.h"
#include "lang/core/sizes/fit.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace tg {

namespace {

using sizes::Expr;
using sizes::Point;

/// The node of another graph that corresponds to each node of the sample.
using Partners = std::vector<NodeId>;

class Structure {
public:
  Structure(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<Point> points,
            llvm::ArrayRef<Graph> graphs, const llvm::DenseMap<uint32_t, std::string>* names)
      : sizes_(sizes), points_(points), graphs_(graphs), sample_(graphs[0]), names_(names) {}

  /// Pairs the nodes of the sample with those of another graph. Errors: `unsupported` names the
  /// first node that differs.
  Result<Partners> pair_up(size_t graph) const {
    const Graph& other = graphs_[graph];
    std::vector<std::pair<NodeId, NodeId>> open;
    for (size_t i = 0; i < sample_.inputs().size(); ++i)
      open.push_back({sample_.inputs()[i], other.inputs()[i]});
    for (size_t i = 0; i < sample_.outputs().size(); ++i)
      open.push_back({sample_.outputs()[i].node, other.outputs()[i].node});
    if (std::string why = interface_difference(other); !why.empty())
      return error(Code::unsupported, "{0} between {1} and {2}", why, point_text(0),
                   point_text(graph));
    Partners partners(sample_.size()), back(other.size());
    std::optional<std::pair<NodeId, std::string>> first; // difference, by node of the sample
    while (!open.empty()) {
      auto [x, y] = open.back();
      open.pop_back();
      NodeId& partner = partners[x.index];
      if (partner == y && back[y.index] == x) continue;
      bool taken = partner.valid() || back[y.index].valid();
      std::string why = taken ? "is shared for one of them, and not for the other"
                              : structure_difference(x, other, y);
      if (!why.empty()) {
        if (!first || x.index < first->first.index) first = {x, std::move(why)};
        continue;
      }
      partner = y;
      back[y.index] = x;
      for (size_t i = 0; i < sample_.operands(x).size(); ++i)
        open.push_back({sample_.operands(x)[i], other.operands(y)[i]});
    }
    if (!first) return partners;
    return error(Code::unsupported, "{0} differs between {1} and {2}: it {3}",
                 node_text(first->first), point_text(0), point_text(graph), first->second);
  }

  /// Compares names and numbers of inputs and outputs.
  std::string interface_difference(const Graph& other) const {
    auto names = [](const Graph& graph) {
      std::vector<std::string> all;
      for (NodeId input : graph.inputs()) all.push_back(graph.attr(input, 0).text);
      all.push_back("->");
      for (const GraphOutput& output : graph.outputs()) all.push_back(output.name);
      return all;
    };
    return names(sample_) == names(other) ? "" : "the inputs or outputs differ";
  }

  /// Returns "" for nodes of equal structure.
  std::string structure_difference(NodeId x, const Graph& other, NodeId y) const {
    const Node &a = sample_.node(x), &b = other.node(y);
    if (a.op != b.op)
      return llvm::formatv("is {0} for one of them, and {1} for the other", op_info(a.op).name,
                           op_info(b.op).name);
    if (a.operand_count != b.operand_count)
      return llvm::formatv("has {0} operands for one of them, and {1} for the other",
                           a.operand_count, b.operand_count);
    const TensorType &s = sample_.type(x), &t = other.type(y);
    if (s.dtype != t.dtype || s.rank() != t.rank())
      return "has the type " + s.text() + " for one of them, and " + t.text() + " for the other";
    for (size_t slot = 0; slot < sample_.attrs(x).size(); ++slot)
      if (Value v = attr_of(sample_, x, slot), w = attr_of(other, y, slot); !same_form(v, w))
        return llvm::formatv("has the attribute {0} = {1} for one of them, and {2} for the other",
                             op_info(a.op).attrs()[slot].name, short_text(v), short_text(w));
    return "";
  }

  static Value attr_of(const Graph& graph, NodeId id, size_t slot) {
    return text::with_pad_numbers(graph.attr(id, slot),
                                  op_info(graph.node(id).op).attrs()[slot].kind);
  }

  /// Returns true for values that are equal up to integers.
  static bool same_form(const Value& a, const Value& b) {
    switch (a.kind) {
    case Value::Kind::Int:
    case Value::Kind::Float:
    case Value::Kind::Type: return a.kind == b.kind; // numbers, and dtypes and ranks of results
    case Value::Kind::Ints:
    case Value::Kind::Floats:
      return a.kind == b.kind && a.ints.size() == b.ints.size() && a.reals.size() == b.reals.size();
    default: return a == b;
    }
  }

  static std::string short_text(const Value& value) {
    constexpr size_t kLongest = 60;
    std::string text = value.text_form();
    return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
  }

  // --- messages ---------------------------------------------------------------------------------

  std::string node_text(NodeId id) const {
    std::string name;
    if (names_) name = names_->lookup(id.index);
    std::string op(op_info(sample_.node(id).op).name);
    if (name.empty() && sample_.node(id).op == OpKind::Input) name = sample_.attr(id, 0).text;
    return name.empty() ? "a node `" + op + "`" : "the node `" + name + "` (" + op + ")";
  }

  std::string place_text(const IntegerPlace& place) const {
    NodeId id{place.node};
    if (place.slot == IntegerPlace::kShape) return "dimension " + std::to_string(place.element);
    return "the attribute " + std::string(op_info(sample_.node(id).op).attrs()[place.slot].name);
  }

  std::string point_text(size_t point) const { return text_of(sizes_, points_[point]); }

  /// A number, with its fraction if it is not an integer.
  struct Number {
    int64_t whole = 0;
    double real = 0; // 0 for an integer
    bool operator==(const Number& other) const {
      return whole == other.whole &&
             (real == other.real || (std::isnan(real) && std::isnan(other.real)));
    }
    std::string text() const {
      return real == 0 ? std::to_string(whole) : Value::of_float(real).text_form();
    }
  };

  static Number number_at(const Graph& graph, NodeId id, const IntegerPlace& place) {
    if (place.slot == IntegerPlace::kShape) return {graph.type(id)[place.element]};
    Value value = attr_of(graph, id, place.slot);
    auto number = [](double x) -> Number {
      constexpr double kExact = 0x1p53;
      bool whole = std::abs(x) < kExact && x == std::trunc(x) && !(x == 0 && std::signbit(x));
      return whole ? Number{static_cast<int64_t>(x)} : Number{0, x};
    };
    switch (value.kind) {
    case Value::Kind::Int: return {value.number};
    case Value::Kind::Ints: return {value.ints[place.element]};
    case Value::Kind::Float: return number(value.real);
    case Value::Kind::Floats:
      return value.ints.empty() ? number(value.reals[place.element])
                                : Number{value.ints[place.element]};
    default: return {};
    }
  }

  /// Visits the places of numbers of a node. Stops at an error.
  Result<void> for_places(NodeId id,
                          llvm::function_ref<Result<void>(const IntegerPlace&)> visit) const {
    const TensorType& type = sample_.type(id);
    for (uint32_t axis = 0; axis < type.shape.size(); ++axis)
      TG_CHECK(visit({id.index, IntegerPlace::kShape, axis}));
    for (uint32_t slot = 0; slot < sample_.attrs(id).size(); ++slot) {
      Value value = attr_of(sample_, id, slot);
      size_t numbers = value.ints.size() + value.reals.size();
      if (value.is(Value::Kind::Int) || value.is(Value::Kind::Float)) numbers = 1;
      if (value.is(Value::Kind::Type)) numbers = 0; // that of the result
      for (uint32_t i = 0; i < numbers; ++i) TG_CHECK(visit({id.index, slot, i}));
    }
    return {};
  }

protected:
  llvm::ArrayRef<OpenSize> sizes_;
  llvm::ArrayRef<Point> points_;
  llvm::ArrayRef<Graph> graphs_;
  const Graph& sample_;

private:
  const llvm::DenseMap<uint32_t, std::string>* names_;
};

class Fit : public Structure {
public:
  using Structure::Structure;

  Result<OpenGraph> run() {
    assert(points_.size() == graphs_.size());
    for (size_t i = 0; i < graphs_.size(); ++i) {
      TG_TRY(Partners partners, pair_up(i));
      partners_.push_back(std::move(partners));
    }
    std::vector<std::string> names;
    for (const OpenSize& size : sizes_) names.push_back(size.name);
    algebra_ = std::make_shared<sizes::Algebra>(std::move(names));
    for (uint32_t i = 0; i < sample_.size(); ++i)
      if (partners_[0][i].valid()) TG_CHECK(fit_node({i}));
    return OpenGraph{sample_, {sizes_.begin(), sizes_.end()}, algebra_, std::move(varying_)};
  }

private:
  Result<void> fit_node(NodeId id) {
    TG_CHECK(for_places(id, [&](const IntegerPlace& place) { return fit_place(place); }));
    return check_shape(id);
  }

  /// A shape may be open only where the node does not list elements.
  Result<void> check_shape(NodeId id) const {
    auto first = varying_.lower_bound({id.index, IntegerPlace::kShape, 0});
    bool open = first != varying_.end() && first->first.node == id.index;
    OpKind op = sample_.node(id).op;
    bool listed = op == OpKind::Weight;
    if (op == OpKind::Constant) {
      const Value& values = sample_.attr(id, 0);
      listed = values.reals.size() + values.ints.size() != 1;
    }
    if (!open || !listed) return {};
    return error(Code::not_constant, "{0} has listed elements, but its shape depends on `{1}`",
                 node_text(id), algebra_->text(first->second));
  }

  Result<void> fit_place(const IntegerPlace& place) {
    std::vector<int64_t> numbers;
    bool equal = true, whole = true;
    Number first = number_at(sample_, {place.node}, place);
    for (size_t i = 0; i < graphs_.size(); ++i) {
      Number number = number_at(graphs_[i], partners_[i][place.node], place);
      equal &= number == first;
      whole &= number.real == 0;
      numbers.push_back(number.whole);
    }
    if (equal) return {};
    if (!whole) return not_fitted(place);
    auto [known, fresh] = fitted_.try_emplace(numbers);
    if (fresh) known->second = sizes::fit(*algebra_, points_, numbers);
    if (!known->second) return not_fitted(place);
    varying_[place] = *known->second;
    return {};
  }

  Diagnostic not_fitted(const IntegerPlace& place) const {
    constexpr size_t kShown = 5;
    std::string numbers;
    for (size_t i = 0; i < std::min(graphs_.size(), kShown); ++i)
      numbers += (i ? ", " : "") + number_at(graphs_[i], partners_[i][place.node], place).text() +
                 " for " + point_text(i);
    return error(Code::not_constant, "{0}: {1} is not an integer expression of the open sizes",
                 node_text({place.node}), place_text(place))
        .note("it is " + numbers);
  }

  std::shared_ptr<sizes::Algebra> algebra_;
  std::vector<Partners> partners_;                             // by graph
  std::map<std::vector<int64_t>, std::optional<Expr>> fitted_; // by the values at the points
  std::map<IntegerPlace, Expr> varying_;
};

/// Compares a graph at another point with the expressions of a fitted one.
class Check : public Structure {
public:
  Check(const OpenGraph& open, llvm::ArrayRef<Point> points, llvm::ArrayRef<Graph> graphs,
        const llvm::DenseMap<uint32_t, std::string>* names)
      : Structure(open.sizes, points, graphs, names), open_(open) {}

  Result<void> run() {
    Result<Partners> partners = pair_up(1);
    if (partners) {
      for (uint32_t i = 0; i < sample_.size(); ++i)
        if ((*partners)[i].valid()) TG_CHECK(compare_node({i}, (*partners)[i]));
      return {};
    }
    if (std::string why = interface_difference(graphs_[1]); !why.empty()) return partners.error();
    for (size_t i = 0; i < sample_.inputs().size(); ++i)
      TG_CHECK(compare_types(sample_.inputs()[i], graphs_[1].inputs()[i]));
    for (size_t i = 0; i < sample_.outputs().size(); ++i)
      TG_CHECK(compare_types(sample_.outputs()[i].node, graphs_[1].outputs()[i].node));
    return {};
  }

private:
  Result<void> compare_node(NodeId id, NodeId other) const {
    return for_places(id, [&](const IntegerPlace& place) { return compare(place, other); });
  }

  Result<void> compare_types(NodeId id, NodeId other) const {
    if (sample_.type(id).rank() != graphs_[1].type(other).rank())
      return error(Code::not_constant, "{0} has another rank for {1}", node_text(id),
                   point_text(1));
    return for_places(id, [&](const IntegerPlace& place) -> Result<void> {
      return place.slot == IntegerPlace::kShape ? compare(place, other) : Result<void>();
    });
  }

  Result<void> compare(const IntegerPlace& place, NodeId other) const {
    Number is = number_at(graphs_[1], other, place);
    Number wanted = number_at(sample_, {place.node}, place);
    std::optional<Expr> expr = open_.find(place);
    if (expr) wanted = {open_.algebra->value(*expr, points_[1]).value_or(INT64_MIN)};
    if (is == wanted) return {};
    std::string text = expr ? open_.algebra->text(*expr) : wanted.text();
    return error(Code::not_constant, "{0}: {1} is `{2}` for most sizes, but {3} for {4}",
                 node_text({place.node}), place_text(place), text, is.text(), point_text(1));
  }

  const OpenGraph& open_;
};

} // namespace

std::string text_of(llvm::ArrayRef<OpenSize> sizes) {
  std::vector<std::string> texts;
  for (const OpenSize& size : sizes) texts.push_back(size.text());
  return llvm::join(texts, ", ");
}

std::string text_of(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<int64_t> point) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < sizes.size(); ++i)
    texts.push_back(sizes[i].name + " = " + std::to_string(point[i]));
  return llvm::join(texts, ", ");
}

std::optional<sizes::Expr> OpenGraph::find(const IntegerPlace& place) const {
  auto found = varying.find(place);
  return found == varying.end() ? std::nullopt : std::optional(found->second);
}

OpenText OpenGraph::text() const {
  OpenText text;
  for (const OpenSize& size : sizes)
    text.parameters.push_back({size.name, size.range.text() + " = " + std::to_string(size.sample)});
  for (const auto& [place, expr] : varying) text.expressions[place] = algebra->text(expr);
  return text;
}

Result<OpenGraph> fit_graph(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<sizes::Point> points,
                            llvm::ArrayRef<Graph> graphs,
                            const llvm::DenseMap<uint32_t, std::string>* names) {
  return Fit(sizes, points, graphs, names).run();
}

Result<void> check_at(const OpenGraph& open, const sizes::Point& point, const Graph& graph,
                      const llvm::DenseMap<uint32_t, std::string>* names) {
  Point sample;
  for (const OpenSize& size : open.sizes) sample.push_back(size.sample);
  std::vector<Point> points = {sample, point};
  std::vector<Graph> graphs = {open.sample, graph};
  return Check(open, points, graphs, names).run();
}

std::string to_text(const OpenGraph& graph, TextOptions options) {
  OpenText open = graph.text();
  options.open = &open;
  return to_text(graph.sample, options);
}

} // namespace tg
