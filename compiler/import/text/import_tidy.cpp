#include "compiler/import/text/import_tidy.h"

#include "compiler/rules/from_ast.h"
#include "compiler/rules/rewrite.h"
#include "lang/core/support/round_number.h"

#include <cassert>
#include <cmath>
#include <set>

namespace tg {
namespace {

/// Returns the number with the fewest digits that rounds to x as a product of two numbers rounded
/// to f32: some files have the square root of 0.125 on both sides of a product.
double shortest_product(double x) {
  constexpr double kTwoRoundings = 0x1p-23;
  return shortest_number(
      x, [&](double number) { return std::abs(number - x) <= kTwoRoundings * std::abs(x); });
}

/// Numbers of a graph that are not from the file.
struct NumbersOfRules {
  std::set<double> written; // by a rule: unchanged
  std::set<double> given;   // to the rules; all others were computed
};

/// A copy with constants of few digits, and the new place of each source node.
class Constants {
public:
  Constants(const Graph& source, const NumbersOfRules* rules)
      : source_(source), rules_(rules), result_(source.shared_symbols(), source.name()),
        at_(source.size()) {}

  Graph run() {
    std::vector<bool> needed = source_.reachable();
    for (NodeId input : source_.inputs())
      at_[input.index] = result_.input(source_.attr(input, 0).text, source_.type(input));
    for (uint32_t i = 0; i < source_.size(); ++i)
      if (needed[i] && !at_[i].valid()) at_[i] = copied({i});
    for (const GraphOutput& output : source_.outputs())
      result_.add_output(output.name, at_[output.node.index]);
    return std::move(result_);
  }
  const std::vector<NodeId>& places() const { return at_; }

private:
  NodeId copied(NodeId id) {
    const Node& node = source_.node(id);
    if (node.op == OpKind::Constant) return constant(source_.attr(id, 0), source_.type(id));
    llvm::SmallVector<ValueId, 6> attrs;
    for (size_t slot = 0; slot < source_.attrs(id).size(); ++slot)
      attrs.push_back(attribute(source_.attr(id, slot), source_.type(id).dtype));
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : source_.operands(id)) operands.push_back(at_[operand.index]);
    if (op_info(node.op).has(Trait::Pointwise)) {
      llvm::SmallVector<NodeId, 6> plain;
      for (NodeId operand : operands) plain.push_back(as_number(operand));
      NodeId made = plain == operands ? NodeId{} : result_.add(node.op, attrs, plain);
      if (made.valid() && result_.type(made) == source_.type(id)) return made;
    }
    NodeId made = result_.add(node.op, attrs, operands);
    assert(made.valid() && "a copy of a well-typed node is well typed");
    return made;
  }

  /// Attributes in files are floats; doubles are computed with exactly these.
  ValueId attribute(Value value, DType computed) {
    if (value.is(Value::Kind::Float) && is_float(computed) && computed != DType::F64)
      value.real = shortest_number(value.real, DType::F32);
    return result_.symbols().value(value);
  }

  NodeId constant(Value values, const TensorType& type) {
    for (double& x : values.reals) {
      if (rules_ && rules_->written.count(x)) continue;
      bool computed = rules_ && !rules_->given.count(x) && type.dtype == DType::F32;
      x = computed ? shortest_product(x) : shortest_number(x, type.dtype);
    }
    return result_.add(
        OpKind::Constant,
        {result_.symbols().value(values), result_.symbols().value(Value::of_type(type))}, {});
  }

  /// Converts a constant of one value to a scalar; its users give the shape.
  NodeId as_number(NodeId id) {
    const TensorType& type = result_.type(id);
    if (result_.node(id).op != OpKind::Constant || type.rank() == 0) return id;
    const Value& values = result_.attr(id, 0);
    if (values.reals.size() + values.ints.size() != 1) return id;
    return result_.add(
        OpKind::Constant,
        {result_.attrs(id)[0], result_.symbols().value(Value::of_type({type.dtype, {}}))}, {});
  }

  const Graph& source_;
  const NumbersOfRules* rules_; // null before the rules were applied
  Graph result_;
  std::vector<NodeId> at_;
};

NumbersOfRules numbers_of(llvm::ArrayRef<Rule> rules, const Graph& given) {
  NumbersOfRules numbers;
  for (const Rule& rule : rules)
    for (const Term& term : rule.terms)
      if (term.kind == Term::Kind::Op && term.op == OpKind::Constant &&
          term.attrs[0].kind == TermAttr::Kind::Literal)
        numbers.written.insert(term.attrs[0].literal.reals.begin(),
                               term.attrs[0].literal.reals.end());
  for (uint32_t i = 0; i < given.size(); ++i)
    if (given.node({i}).op == OpKind::Constant)
      numbers.given.insert(given.attr({i}, 0).reals.begin(), given.attr({i}, 0).reals.end());
  return numbers;
}

} // namespace

std::optional<TidyGraph> tidied(const Graph& graph,
                                const llvm::DenseMap<uint32_t, std::string>& names,
                                SourceManager& sources, const ModuleLoader& library,
                                DiagnosticSink& sink) {
  std::optional<std::vector<Rule>> rules = load_rules(sources, library, {"import"}, sink);
  if (!rules) return std::nullopt;
  Constants constants(graph, nullptr);
  Graph plain = constants.run();
  Rewritten rewritten = rewrite(plain, *rules);
  NumbersOfRules numbers = numbers_of(*rules, plain);
  Constants again(rewritten.graph, &numbers);
  TidyGraph tidy{again.run()};
  tidy.became.resize(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) { // in order, so that the first of two names stays
    NodeId at = constants.places()[i];
    if (at.valid()) at = rewritten.became[at.index];
    if (at.valid()) at = again.places()[at.index];
    tidy.became[i] = at;
    auto name = names.find(i);
    if (name != names.end() && at.valid()) tidy.names.try_emplace(at.index, name->second);
  }
  return tidy;
}

} // namespace tg
