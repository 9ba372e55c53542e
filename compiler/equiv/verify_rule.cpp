#include "compiler/equiv/verify_rule.h"

#include "compiler/egraph/rule_sample.h"
#include "compiler/egraph/rule_text.h"
#include "compiler/equiv/rule_class.h"
#include "compiler/ir/to_text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr size_t kAttempts = 2000;       // for one draw
constexpr size_t kFirstAttempts = 20000; // before a rule counts as empty
constexpr size_t kDrawsEach = 12;        // for one instance whose right side is well typed
constexpr size_t kFruitless = 30;        // draws in a row before a combination counts as without

using Forced = RuleSampler::Forced;

/// The members of an attribute kind that a rule should be tried with, nullopt for any other value;
/// empty if they are not few.
std::vector<std::optional<Value>> members(AttrKind kind) {
  std::vector<std::optional<Value>> values;
  if (kind == AttrKind::boolean) return {Value::of_bool(false), Value::of_bool(true)};
  for (llvm::StringRef name : enum_members(kind)) values.push_back(Value::of_enum(name));
  if (kind == AttrKind::pad) values.push_back(std::nullopt); // numbers
  return values;
}

std::vector<Forced> combinations(const Rule& rule) {
  std::vector<std::optional<AttrKind>> kinds(rule.value_vars);
  for (TermId id = 0; id < rule.terms.size(); ++id) {
    const Term& term = rule.terms[id];
    if (term.kind != Term::Kind::Op) continue;
    for (size_t slot = 0; slot < term.attrs.size(); ++slot)
      if (term.attrs[slot].kind == TermAttr::Kind::Variable)
        kinds[term.attrs[slot].variable] = op_info(term.op).attrs()[slot].kind;
  }
  std::vector<Forced> all = {{}};
  for (uint32_t v = 0; v < rule.value_vars; ++v) {
    if (!kinds[v]) continue;
    std::vector<std::optional<Value>> values = members(*kinds[v]);
    if (values.empty() || all.size() * values.size() > 64) continue;
    std::vector<Forced> longer;
    for (const Forced& forced : all)
      for (const std::optional<Value>& value : values) {
        longer.push_back(forced);
        if (value) longer.back().push_back({v, *value});
      }
    all = std::move(longer);
  }
  return all;
}

/// Both sides at an instance.
struct Sides {
  Joined joined;
  int64_t size = 0; // elements of all leaves
};

/// nullopt if the right side is not well typed, or of another type: the engine refuses such a
/// match.
std::optional<Sides> build(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
                           const RuleInstance& instance, std::string* why) {
  Sides sides{{Graph(symbols, "rule"), {}, {}, {}}, 0};
  Joined& joined = sides.joined;
  std::vector<NodeId> nodes;
  for (TermId root : rule.lhs)
    joined.a.push_back(build_term(joined.graph, rule, instance, root, nodes));
  for (TermId root : rule.rhs)
    joined.b.push_back(build_term(joined.graph, rule, instance, root, nodes, why));
  for (size_t i = 0; i < joined.a.size(); ++i) {
    if (!joined.a[i].valid() || !joined.b[i].valid()) return std::nullopt;
    if (!(joined.graph.type(joined.a[i]) == joined.graph.type(joined.b[i]))) return std::nullopt;
    joined.names.push_back(joined.a.size() == 1 ? "y" : "y" + std::to_string(i));
  }
  for (TypeId type : instance.types)
    if (type != TypeId{} && !symbols->type(type).is_none())
      sides.size += symbols->type(type).elements();
  return sides;
}

/// The models `left` and `right` of an instance, as one file.
std::string as_models(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
                      const RuleInstance& instance, llvm::ArrayRef<std::string> doc) {
  std::string text;
  Graph sides[] = {Graph(symbols, "left"), Graph(symbols, "right")};
  for (bool left : {true, false}) {
    Graph& graph = sides[left ? 0 : 1];
    std::vector<NodeId> nodes;
    // Both have all inputs, in one order.
    for (uint32_t v = 0; v < rule.class_vars; ++v)
      if (instance.types[v] != TypeId{} && !instance.weights[v] && !instance.constants[v] &&
          !symbols->type(instance.types[v]).is_none())
        graph.input(rule.class_var_names[v], symbols->type(instance.types[v]));
    const auto& roots = left ? rule.lhs : rule.rhs;
    for (size_t i = 0; i < roots.size(); ++i)
      graph.add_output(roots.size() == 1 ? "y" : "y" + std::to_string(i),
                       build_term(graph, rule, instance, roots[i], nodes));
    TextOptions options;
    if (left) options.doc = llvm::join(doc, "\n");
    if (!left) options.before = &sides[0];
    text += (left ? "" : "\n") + to_text(graph, options);
  }
  return text;
}

class Verifier {
public:
  /// With a visitor nothing is compared.
  Verifier(const Rule& rule, const RuleCheckOptions& options, InstanceVisitor visitor = {})
      : rule_(rule), options_(options), visitor_(std::move(visitor)),
        symbols_(std::make_shared<Symbols>()),
        sampler_(*symbols_, rule, options.seed, SampledDTypes::Any), watch_(rule) {}

  RuleVerdict run() {
    std::vector<Forced> all = combinations(rule_);
    std::vector<size_t> failed(all.size()), found(all.size());
    for (size_t round = 0; verdict_.cases < options_.instances; ++round) {
      bool open = false;
      for (size_t i = 0; i < all.size(); ++i) {
        // The first rounds are for every combination, whatever the count.
        bool enough = verdict_.cases >= options_.instances && (round > 0 || found[i] > 0);
        if (enough || failed[i] >= kFruitless) continue;
        bool drawn = draw(all[i], round == 0 && !drawn_ ? kFirstAttempts : kAttempts);
        found[i] += drawn;
        failed[i] = drawn ? 0 : failed[i] + 1;
        if (!drawn && !drawn_) failed[i] = kFruitless; // not even a left side
        if (verdict_.status == RuleVerdict::Status::Refuted) return std::move(verdict_);
        open |= failed[i] < kFruitless;
      }
      if (!open) break;
    }
    verdict_.combinations = static_cast<size_t>(llvm::count_if(found, [](size_t n) { return n; }));
    if (verdict_.cases == 0)
      none();
    else
      check_class();
    return std::move(verdict_);
  }

private:
  /// Draws an instance and compares; whether there was one.
  bool draw(const Forced& forced, size_t attempts) {
    for (size_t i = 0; i < kDrawsEach; ++i) {
      std::optional<RuleInstance> instance = sampler_.draw(attempts, forced);
      if (!instance) return false;
      drawn_ = true;
      std::optional<Sides> sides = build(rule_, symbols_, *instance, &why_);
      if (!sides) continue;
      compare(*instance, *sides);
      return true;
    }
    return false;
  }

  Equivalence equivalence(const Joined& joined, bool minimise) const {
    EquivalenceOptions options;
    options.seed = options_.seed + verdict_.cases;
    options.minimise = minimise;
    return check_equivalence(joined, options);
  }

  void compare(const RuleInstance& instance, const Sides& sides) {
    if (visitor_) {
      ++verdict_.cases;
      return visitor_(*symbols_, instance);
    }
    Equivalence result = equivalence(sides.joined, false);
    ++verdict_.cases;
    if (result.different()) return refute(instance, sides);
    if (result.equal() && result.method != Equivalence::Method::Float64) {
      ++verdict_.in_field;
      double error = result.method == Equivalence::Method::Field ? result.log2_error : kSameGraph;
      verdict_.log2_error = verdict_.in_field == 1 ? error : std::max(verdict_.log2_error, error);
    }
    if (result.method != Equivalence::Method::Identical)
      watch_.look(*symbols_, instance, sides.joined, options_.seed + verdict_.cases);
  }

  /// Keeps the smallest of many counterexamples.
  void refute(RuleInstance instance, const Sides& sides) {
    verdict_.status = RuleVerdict::Status::Refuted;
    int64_t smallest = sides.size;
    for (size_t i = 0; i < options_.smaller; ++i) {
      std::optional<RuleInstance> other = sampler_.draw(kAttempts, {});
      if (!other) break;
      std::optional<Sides> built = build(rule_, symbols_, *other, nullptr);
      if (!built || built->size >= smallest || !equivalence(built->joined, false).different())
        continue;
      smallest = built->size;
      instance = *other;
    }
    std::vector<std::string> where = describe(*symbols_, rule_, instance);
    verdict_.why = "the sides differ at " + llvm::join(where, ", ");
    verdict_.counterexample =
        as_models(rule_, symbols_, instance, {"Counterexample to the rule", rule_text(rule_)});
  }

  void none() {
    verdict_.status = RuleVerdict::Status::Empty;
    verdict_.why = drawn_ ? "the right side is never well typed: " + why_
                          : "no operand types satisfy its left side and conditions";
  }

  void check_class() {
    verdict_.observed = watch_.observed();
    verdict_.why = watch_.fault();
    if (!verdict_.why.empty()) verdict_.status = RuleVerdict::Status::Refuted;
  }

  const Rule& rule_;
  RuleCheckOptions options_;
  InstanceVisitor visitor_;
  std::shared_ptr<Symbols> symbols_;
  RuleSampler sampler_;
  RuleVerdict verdict_;
  bool drawn_ = false;
  std::string why_;
  ClassWatch watch_;
};

/// FNV-1a over what a rule says, field by field; the separators keep fields apart.
class Fingerprint {
public:
  void add(llvm::StringRef text) {
    for (char c : text) byte(static_cast<unsigned char>(c));
    byte(0x1f);
  }
  template <class... Numbers> void add_numbers(Numbers... numbers) {
    for (uint64_t n : {static_cast<uint64_t>(numbers)...})
      for (int shift = 0; shift < 64; shift += 8) byte(n >> shift & 0xff);
  }
  template <class List> void add_list(const List& list) {
    add_numbers(list.size());
    for (auto n : list) add_numbers(n);
  }
  std::string text() const {
    return llvm::utohexstr(high_, /*LowerCase=*/true) + llvm::utohexstr(low_, /*LowerCase=*/true);
  }

private:
  void byte(uint64_t b) {
    low_ = (low_ ^ b) * 1099511628211u;
    high_ = (high_ ^ b ^ (low_ >> 32)) * 0x9e3779b97f4a7c15u;
  }
  uint64_t low_ = 14695981039346656037u, high_ = 0x243f6a8885a308d3u;
};

/// Of what is checked and proved, and how: raised by hand with either.
constexpr llvm::StringLiteral kVersion = "4";

void add_table(Fingerprint& print) {
  print.add(kVersion);
  for (const OpInfo& op : all_ops()) {
    print.add(op.name);
    print.add(op.doc);
    print.add_numbers(op.traits, op.shape, op.operand_count, op.attr_count);
    for (const OperandInfo& operand : op.operands()) {
      print.add(operand.name);
      print.add_numbers(operand.optional, operand.variadic);
    }
    for (const AttrInfo& attr : op.attrs()) {
      print.add(attr.name);
      print.add(attr.default_text);
      print.add_numbers(attr.kind, attr.required);
    }
  }
}

} // namespace

llvm::StringRef status_name(RuleVerdict::Status status) {
  switch (status) {
  case RuleVerdict::Status::Tested: return "tested";
  case RuleVerdict::Status::Refuted: return "refuted";
  case RuleVerdict::Status::Empty: return "empty";
  }
  return "";
}

RuleVerdict verify_rule(const Rule& rule, const RuleCheckOptions& options) {
  if (rule.native != Native::No) return {};
  return Verifier(rule, options).run();
}

void visit_instances(const Rule& rule, const RuleCheckOptions& options, InstanceVisitor visitor) {
  if (rule.native == Native::No) Verifier(rule, options, std::move(visitor)).run();
}

std::string rule_fingerprint(const Rule& rule) {
  Fingerprint print;
  add_table(print);
  print.add_numbers(rule.numerics, rule.native, rule.class_vars, rule.value_vars);
  for (const Term& term : rule.terms) {
    print.add_numbers(term.kind, term.variable, term.op, term.attrs.size());
    for (const TermAttr& attr : term.attrs) {
      print.add_numbers(attr.kind, attr.variable, attr.expr, attr.literal.kind);
      print.add(attr.literal.text_form());
    }
    print.add_list(term.operands);
  }
  for (const ValueExpr& expr : rule.exprs) {
    print.add_numbers(expr.kind, expr.variable, expr.variable2, expr.literal.kind);
    print.add(expr.literal.text_form());
    print.add_list(expr.operands);
  }
  print.add_list(rule.lhs);
  print.add_list(rule.rhs);
  print.add_list(rule.conditions);
  return print.text();
}

} // namespace tg
