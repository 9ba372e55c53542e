#include "compiler/verify/verify_rule.h"

#include "compiler/ir/to_text.h"
#include "compiler/rules/instances/goals.h"
#include "compiler/rules/instances/kinds.h"
#include "compiler/rules/instances/sample.h"
#include "compiler/rules/text.h"
#include "compiler/verify/counterexample/float_comparison.h"
#include "compiler/verify/counterexample/instance_changes.h"
#include "compiler/verify/counterexample/narrow.h"
#include "compiler/verify/counterexample/rule_probes.h"
#include "compiler/verify/rule_class.h"
#include "lang/core/version.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr size_t kAttempts = 2000;       // for one draw
constexpr size_t kFirstAttempts = 20000; // before a rule counts as having no instances
constexpr size_t kDrawn = 20;            // percent of instances; the others are changed from these
constexpr size_t kCrossed = 3;           // instances with crossed comparisons
constexpr size_t kDrawsEach = 12;        // for one instance with a well-typed right side
constexpr size_t kPicked = 8;            // draws of which one is compared
constexpr size_t kPickAttempts = 200;
constexpr size_t kFruitless = 30;                // failed draws in a row that end a combination
constexpr size_t kAllFruitless = 2 * kFruitless; // the same for all its failed draws
constexpr size_t kHopeless = 3; // the same for one of many combinations without an instance yet

using Forced = RuleSampler::Forced;

/// Returns the values of an attribute kind that every rule should be tried with; nullopt stands for
/// any other value. Empty if there are too many.
std::vector<std::optional<Value>> members(AttrKind kind) {
  std::vector<std::optional<Value>> values;
  if (kind == AttrKind::boolean) return {Value::of_bool(false), Value::of_bool(true)};
  for (llvm::StringRef name : enum_members(kind)) values.push_back(Value::of_enum(name));
  if (kind == AttrKind::pad) values.push_back(std::nullopt); // numbers
  return values;
}

std::vector<Forced> combinations(const Rule& rule) {
  std::vector<std::optional<AttrKind>> kinds = attribute_kinds(rule);
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

/// Builds both sides. nullopt if the right side is ill-typed or has another type, since the engine
/// rejects such a match.
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

/// Returns the models `left` and `right` of an instance as one file.
std::string as_models(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
                      const RuleInstance& instance, llvm::ArrayRef<std::string> doc) {
  std::string text;
  Graph sides[] = {Graph(symbols, "left"), Graph(symbols, "right")};
  for (bool left : {true, false}) {
    Graph& graph = sides[left ? 0 : 1];
    std::vector<NodeId> nodes;
    // Both have all inputs, in the same order.
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
  /// With a visitor, instances are not compared.
  Verifier(const Rule& rule, const RuleCheckOptions& options, InstanceVisitor visitor = {})
      : rule_(rule), options_(options), visitor_(std::move(visitor)),
        symbols_(std::make_shared<Symbols>()),
        sampler_(*symbols_, rule, options.seed, SampledDTypes::Any),
        changes_(*symbols_, rule, options.seed), goals_(*symbols_, rule, options.seed),
        probes_(rule, options.seed), watch_(rule) {}

  RuleVerdict run() {
    std::vector<Forced> all = combinations(rule_);
    std::vector<size_t> failed(all.size()), found(all.size());
    // Draws some instances, changes these to others, then draws the missing ones.
    draw_all(all, options_.instances * kDrawn / 100, failed, found);
    if (drawn_) change_all();
    draw_all(all, options_.instances, failed, found);
    reach_all();
    if (verdict_.status != RuleVerdict::Status::Refuted) cross_all();
    if (verdict_.status == RuleVerdict::Status::Refuted) return std::move(verdict_);
    if (options_.stop.asked()) return stopped();
    verdict_.combinations = static_cast<size_t>(llvm::count_if(found, [](size_t n) { return n; }));
    verdict_.kinds = changes_.kinds();
    verdict_.kind_pairs = changes_.pairs();
    verdict_.partitions = probes_.reached();
    verdict_.partition_pairs = probes_.pairs();
    if (verdict_.cases == 0)
      none();
    else
      check_class();
    if (verdict_.status == RuleVerdict::Status::Tested) check_reach();
    return std::move(verdict_);
  }

private:
  RuleVerdict stopped() const {
    RuleVerdict out;
    out.status = RuleVerdict::Status::Stopped;
    out.why = "the check was stopped before it had a result";
    return out;
  }

  /// Returns true if no more instances are needed.
  bool over() const {
    return verdict_.status == RuleVerdict::Status::Refuted || options_.stop.asked();
  }

  /// Draws instances of all combinations of enumerated attributes, up to `cases` cases.
  void draw_all(llvm::ArrayRef<Forced> all, size_t cases, std::vector<size_t>& failed,
                std::vector<size_t>& found) {
    std::vector<size_t> all_failed(all.size());
    for (size_t round = 0; verdict_.cases < cases; ++round) {
      bool open = false;
      for (size_t i = 0; i < all.size(); ++i) {
        // The first rounds cover every combination, regardless of the count.
        bool enough = verdict_.cases >= cases && (round > 0 || found[i] > 0);
        size_t patience = found[i] > 0 ? kFruitless : std::max(kFruitless / all.size(), kHopeless);
        if (enough || failed[i] >= patience || all_failed[i] >= kAllFruitless) continue;
        bool drawn = draw(all[i], round == 0 && !drawn_ ? kFirstAttempts : kAttempts);
        found[i] += drawn;
        failed[i] = drawn ? 0 : failed[i] + 1;
        all_failed[i] += !drawn;
        if (!drawn && !drawn_) failed[i] = patience; // not even the left side has an instance
        if (over()) return;
        open |= failed[i] < patience;
      }
      if (!open) break;
    }
  }

  /// Makes instances of kinds that were not drawn: one for each kind found, regardless of the
  /// count.
  void change_all() {
    while (!over() && (verdict_.cases < options_.instances || changes_.pending())) {
      std::optional<RuleInstance> instance = changes_.next();
      if (!instance) return;
      if (std::optional<Sides> sides = build(rule_, symbols_, *instance, &why_))
        compare(*instance, *sides);
    }
  }

  /// Makes instances on all sides of the thresholds in the rule's expressions.
  void reach_all() {
    while (!over()) {
      std::optional<RuleInstance> instance = goals_.next();
      if (!instance) return;
      if (std::optional<Sides> sides = build(rule_, symbols_, *instance, &why_))
        compare(*instance, *sides);
    }
  }

  /// Draws an instance and compares it; returns true if there was one.
  bool draw(const Forced& forced, size_t attempts) {
    for (size_t i = 0; i < kDrawsEach; ++i) {
      std::optional<RuleInstance> instance = sampler_.draw(attempts, forced);
      if (!instance) return false;
      drawn_ = true;
      std::optional<Sides> sides = build(rule_, symbols_, *instance, &why_);
      if (!sides) {
        changes_.start_from(*instance);
        continue;
      }
      pick(*instance, *sides, forced);
      compare(*instance, *sides);
      return true;
    }
    return false;
  }

  /// Picks the draw that differs most from earlier ones: most draws of a simple rule are similar.
  void pick(RuleInstance& instance, Sides& sides, const Forced& forced) {
    size_t most = changes_.new_pairs(instance);
    for (size_t i = 1; i < kPicked; ++i) {
      std::optional<RuleInstance> other = sampler_.draw(kPickAttempts, forced);
      if (!other) return;
      size_t count = changes_.new_pairs(*other);
      if (count <= most) continue;
      std::optional<Sides> made = build(rule_, symbols_, *other, &why_);
      if (!made) continue;
      most = count;
      instance = std::move(*other);
      sides = std::move(*made);
    }
  }

  Equivalence equivalence(const Joined& joined, bool minimise) const {
    EquivalenceOptions options;
    options.seed = options_.seed + verdict_.cases;
    options.minimise = minimise;
    options.thorough = false; // too slow for some hundred instances
    options.stop = [this] { return options_.stop.asked(); };
    return check_equivalence(joined, options);
  }

  /// Returns true if finite values differ. An infinity or NaN on one side may come from a division
  /// by zero or an overflow, about which most classes promise nothing; the probes judge these.
  static bool differ(const Equivalence& result) {
    return result.different() && std::isfinite(result.counterexample->a.as_real()) &&
           std::isfinite(result.counterexample->b.as_real());
  }

  void compare(const RuleInstance& instance, const Sides& sides) {
    changes_.reached(instance);
    goals_.reached(instance);
    if (visitor_) {
      ++verdict_.cases;
      return visitor_(*symbols_, instance);
    }
    Equivalence result = equivalence(sides.joined, false);
    ++verdict_.cases;
    bool in_field = result.equal() && result.method != Equivalence::Method::Float64;
    if (differ(result)) return refute(instance, sides);
    bool parted = result.method != Equivalence::Method::Identical;
    if (parted && probes_.refuted(instance, sides.joined, in_field)) return refute(instance, sides);
    if (in_field) {
      ++verdict_.in_field;
      double error = result.method == Equivalence::Method::Field ? result.log2_error : kSameGraph;
      verdict_.log2_error = verdict_.in_field == 1 ? error : std::max(verdict_.log2_error, error);
    }
    if (!in_field) keep_small_instance(instance, sides.size);
    bool has_finite_values = in_field || RuleProbes::has_finite_values(sides.joined, options_.seed);
    if (has_finite_values && result.method != Equivalence::Method::Identical)
      watch_.look(symbols_, instance, sides.joined, options_.seed + verdict_.cases);
  }

  /// Keeps the smallest instances for which only float64 decided.
  void keep_small_instance(const RuleInstance& instance, int64_t size) {
    apart_.push_back({size, instance});
    std::stable_sort(apart_.begin(), apart_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (apart_.size() > kCrossed) apart_.pop_back();
  }

  bool compares() const {
    return llvm::any_of(rule_.terms, [](const Term& term) {
      return term.kind == Term::Kind::Op && op_info(term.op).shape == ShapeRule::compare;
    });
  }

  /// Drives each comparison inside one side of the rule to both results, at the same instances. A
  /// comparison that has the same result at all of them counts as untested.
  void cross_all() {
    if (!compares()) return;
    std::optional<std::vector<std::string>> open;
    for (auto& [size, instance] : apart_) {
      RuleInstance free = instance;
      free.constants.assign(free.constants.size(), false);
      std::optional<Sides> sides = build(rule_, symbols_, free, nullptr);
      if (!sides || options_.stop.asked()) return;
      EquivalenceOptions options;
      options.seed = options_.seed;
      options.caveats = false;
      options.stop = [this] { return options_.stop.asked(); };
      FloatFindings found =
          compare_in_float64(sides->joined, options, AdversarialInputs::Effort::Whole);
      const Counterexample* example = found.different ? &*found.different : nullptr;
      if (example && std::isfinite(example->a.as_real()) && std::isfinite(example->b.as_real())) {
        options_.smaller = 0; // these inputs belong to this instance
        probes_.forget_refutation();
        refute(free, *sides);
        return;
      }
      if (open)
        llvm::erase_if(*open,
                       [&](auto& name) { return !llvm::is_contained(found.unreached, name); });
      else
        open = found.unreached;
      if (found.rounded) uncrossed_ = "the sides differ where rounding may decide a comparison";
    }
    if (open && !open->empty())
      uncrossed_ = "no tested inputs give both results of " + llvm::join(*open, ", ");
  }

  /// Returns true if the sides differ in the way in which the rule was refuted.
  bool wrong(const Joined& sides) {
    Equivalence result = equivalence(sides, false);
    if (result.method == Equivalence::Method::Identical) return false;
    bool in_field = result.equal() && result.method != Equivalence::Method::Float64;
    if (!differ(result)) return probes_.is_refuted_again(sides, in_field);
    probes_.forget_refutation();
    return true;
  }

  /// Keeps the smallest of many counterexamples.
  void refute(RuleInstance instance, const Sides& sides) {
    verdict_.status = RuleVerdict::Status::Refuted;
    int64_t smallest = sides.size;
    for (size_t i = 0; i < options_.smaller && !options_.stop.asked(); ++i) {
      std::optional<RuleInstance> other = sampler_.draw(kAttempts, {});
      if (!other) break;
      std::optional<Sides> built = build(rule_, symbols_, *other, nullptr);
      if (!built || built->size >= smallest || !wrong(built->joined)) continue;
      smallest = built->size;
      instance = *other;
    }
    std::vector<std::string> where = describe(*symbols_, rule_, instance);
    verdict_.why = "the sides differ at " + llvm::join(where, ", ");
    if (!probes_.refutation().empty())
      verdict_.why += ": at " + probes_.refutation();
    else
      verdict_.why += numbers(instance);
    verdict_.counterexample =
        as_models(rule_, symbols_, instance, {"Counterexample to the rule", rule_text(rule_)});
  }

  /// Returns where the sides differ, on a separate line.
  std::string numbers(const RuleInstance& instance) {
    std::optional<Sides> built = build(rule_, symbols_, instance, nullptr);
    if (!built) return "";
    std::optional<Counterexample> example = equivalence(built->joined, true).counterexample;
    std::string text = example ? example_text(built->joined.graph, *example) : "";
    return text.empty() ? "" : "\n  " + text;
  }

  void none() {
    verdict_.status = RuleVerdict::Status::Empty;
    verdict_.why = drawn_ ? "the right side is never well typed: " + why_
                          : "no operand types satisfy its left side and conditions";
  }

  /// Rejects a rule with untested parts.
  void check_reach() {
    std::string missing = probes_.unreached(), sides = goals_.unreached();
    if (!missing.empty())
      verdict_.why = "no comparison in: " + missing;
    else if (!sides.empty())
      verdict_.why =
          llvm::formatv("no instance of at most {0} elements was found on the other side "
                        "of {1}",
                        kMaxSolvedElements, sides);
    else if (!uncrossed_.empty())
      verdict_.why = uncrossed_;
    else if (verdict_.in_field == 0 && !probes_.told())
      verdict_.why = "every compared result is NaN or infinite";
    else if (verdict_.cases < options_.instances)
      verdict_.why =
          llvm::formatv("only {0} of {1} instances were found", verdict_.cases, options_.instances);
    if (!verdict_.why.empty()) verdict_.status = RuleVerdict::Status::Untested;
  }

  void check_class() {
    verdict_.observed = std::max(watch_.observed(), probes_.observed());
    verdict_.numerics = std::max(watch_.numerics(), probes_.observed());
    verdict_.why = watch_.fault();
    if (rule_.stated && verdict_.why.empty() && probes_.observed() > rule_.numerics)
      verdict_.why = llvm::formatv("the rule is stated `{0}`, but it is `{1}`: at {2}",
                                   numerics_name(rule_.numerics), numerics_name(probes_.observed()),
                                   probes_.where());
    if (!verdict_.why.empty()) verdict_.status = RuleVerdict::Status::Refuted;
  }

  const Rule& rule_;
  RuleCheckOptions options_;
  InstanceVisitor visitor_;
  std::shared_ptr<Symbols> symbols_;
  RuleSampler sampler_;
  InstanceChanges changes_;
  RuleGoals goals_;
  RuleVerdict verdict_;
  RuleProbes probes_;
  std::vector<std::pair<int64_t, RuleInstance>> apart_; // by size
  bool drawn_ = false;
  std::string why_, uncrossed_;
  ClassWatch watch_;
};

/// FNV-1a over the contents of a rule, field by field; separators keep fields distinct.
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

/// Version of the checks and proofs; incremented by hand when they change.
constexpr llvm::StringLiteral kVersion = "14";

void add_table(Fingerprint& print) {
  print.add(kVersion);
  print.add(kProgramVersion);
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
  print.add_numbers(rule.numerics, rule.stated, rule.native, rule.class_vars, rule.value_vars);
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
  print.add_list(rule.finite);
  return print.text();
}

} // namespace tg
