#include "compiler/egraph/explain_chain.h"

#include "compiler/egraph/rule_sides.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

constexpr size_t kMostSteps = 20'000, kMostWork = 4'000'000;
constexpr uint32_t kTries = 4;           // before a place that keeps changing is given up
constexpr uint32_t kMostEquations = 500; // between two terms

/// A node of the present graph, by the way to it from an output.
struct Place {
  uint32_t output = 0;
  std::vector<uint32_t> path;
};

/// Work to be done at a place; on top of it on the stack lies what has to be done before.
struct Frame {
  enum class Kind : uint8_t { Convert, Fit, Apply };
  Kind kind{};
  Place place;
  NodeId goal;                        // Convert, Fit
  const TermSketch* sketch = nullptr; // where given, only its operators are wanted
  uint32_t item = 0;                  // of the sketch
  uint32_t equation = 0;              // Apply
  bool forward = true;
  uint32_t child = 0, tries = 0;
};

class Chain {
public:
  Chain(ExplainLedger& ledger, llvm::ArrayRef<NodeId> from, llvm::ArrayRef<NodeId> to,
        ChainManner manner)
      : ledger_(ledger), terms_(ledger.terms), roots_(from.begin(), from.end()),
        goals_(to.begin(), to.end()), manner_(manner) {}

  std::optional<std::vector<DerivationStep>> run() {
    for (uint32_t tries = 0; tries < kTries && roots_ != goals_; ++tries)
      for (uint32_t output = 0; output < roots_.size(); ++output) {
        push_convert({output, {}}, goals_[output]);
        while (!stack_.empty() && !failed_) work();
        if (failed_) return std::nullopt;
      }
    if (roots_ != goals_) return std::nullopt;
    return std::move(steps_);
  }

private:
  using Binding = std::vector<NodeId>;
  bool everywhere() const { return manner_ <= ChainManner::AlongForest; }

  void work() {
    failed_ |= ++work_ > kMostWork || steps_.size() > kMostSteps;
    ledger_.closure.catch_up();
    Frame& top = stack_.back();
    switch (top.kind) {
    case Frame::Kind::Convert: return convert(top);
    case Frame::Kind::Fit: return fit(top);
    case Frame::Kind::Apply: return apply(top);
    }
  }

  void fail() { failed_ = true; }
  void pop() { stack_.pop_back(); }

  NodeId at(const Place& place) const {
    NodeId node = roots_[place.output];
    for (uint32_t i : place.path) {
      llvm::ArrayRef<NodeId> operands = terms_.operands(node);
      if (i >= operands.size()) return {};
      node = operands[i];
    }
    return node;
  }
  static Place below(const Place& place, uint32_t operand) {
    Place out = place;
    out.path.push_back(operand);
    return out;
  }

  void push_convert(Place place, NodeId goal, const TermSketch* sketch = nullptr,
                    uint32_t item = 0) {
    Frame f;
    f.kind = Frame::Kind::Convert;
    f.place = std::move(place), f.goal = goal, f.sketch = sketch, f.item = item;
    stack_.push_back(std::move(f));
  }
  void push_fit(Place place, NodeId goal, const TermSketch* sketch = nullptr, uint32_t item = 0) {
    push_convert(std::move(place), goal, sketch, item);
    stack_.back().kind = Frame::Kind::Fit;
  }
  void push_apply(Place place, uint32_t equation, bool forward) {
    Frame f;
    f.kind = Frame::Kind::Apply;
    f.place = std::move(place), f.equation = equation, f.forward = forward;
    stack_.push_back(std::move(f));
  }

  bool same_operator(NodeId a, NodeId b) const {
    const Node &x = terms_.node(a), &y = terms_.node(b);
    return x.op == y.op && x.attrs == y.attrs && x.operand_count == y.operand_count;
  }

  // --- the three kinds of work ------------------------------------------------------------------

  void convert(Frame& f) {
    NodeId now = at(f.place);
    if (!now.valid()) return fail();
    if (f.sketch ? matches(now, *f.sketch, f.item) : now == f.goal) return pop();
    if (!ledger_.closure.same(now, f.goal)) return fail();
    std::optional<TermClosure::Edge> next = next_equation(now, f.goal);
    if (++f.tries > kMostEquations) return fail(); // it goes in a circle
    Place place = f.place;
    if (!next) return push_fit(std::move(place), f.goal, f.sketch, f.item);
    ExplainLedger::Equation equation = ledger_.equation(next->why);
    const RuleApplication& a = ledger_.application(equation.application);
    push_apply(std::move(place), next->why, a.left[equation.side] == next->from);
  }

  std::optional<TermClosure::Edge> next_equation(NodeId now, NodeId goal) const {
    if (manner_ < ChainManner::AlongForest) return ledger_.closure.first_of_shortest(now, goal);
    for (const TermClosure::Edge& edge : ledger_.closure.path(now, goal))
      if (edge.why != TermClosure::kCongruence) return edge;
    return std::nullopt;
  }

  /// Makes the operands right of what has the right operator, one after the other.
  void fit(Frame& f) {
    NodeId now = at(f.place);
    if (!now.valid() || !same_operator(now, f.goal)) {
      // Work on one operand has changed what is around another: from above again.
      failed_ |= f.child == 0;
      return pop();
    }
    while (f.child < terms_.node(now).operand_count) {
      uint32_t child = f.child++;
      if (!f.sketch) {
        NodeId goal = terms_.operands(f.goal)[child];
        if (terms_.operands(now)[child] == goal) continue;
        return push_convert(below(f.place, child), goal);
      }
      uint32_t item = f.sketch->items[f.item].operands[child];
      if (f.sketch->items[item].variable >= 0) continue;
      return push_convert(below(f.place, child), f.sketch->items[item].term, f.sketch, item);
    }
    pop();
  }

  void apply(Frame& f) {
    ExplainLedger::Equation equation = ledger_.equation(f.equation);
    const RuleApplication& a = ledger_.application(equation.application);
    if (++f.tries > kTries) return fail();
    if (manner_ == ChainManner::ToTheLetter) {
      NodeId from = (f.forward ? a.left : a.right)[equation.side];
      if (!(at(f.place) == from)) return push_fit(f.place, from);
      return step(f, a, equation.side, a.classes);
    }
    const TermSketch& side = sketch(equation.application, f.forward, equation.side);
    Binding binding(a.classes.size());
    std::optional<Conflict> conflict;
    uint32_t root = static_cast<uint32_t>(side.items.size() - 1);
    if (!match(at(f.place), side, root, binding, &conflict))
      return push_fit(f.place, side.items[root].term, &side, root);
    if (conflict) {
      Place place = f.place;
      place.path.insert(place.path.end(), conflict->path.begin(), conflict->path.end());
      return push_convert(std::move(place), conflict->wanted);
    }
    step(f, a, equation.side, std::move(binding));
  }

  // --- matching ---------------------------------------------------------------------------------

  /// A variable that stands for two terms; the second has to become the first.
  struct Conflict {
    std::vector<uint32_t> path;
    NodeId wanted;
  };

  /// Whether the operators are those of the sketch, over operands that equal those recorded. Binds
  /// its variables.
  bool match(NodeId node, const TermSketch& sketch, uint32_t item, Binding& binding,
             std::optional<Conflict>* conflict) const {
    struct Visit {
      NodeId node;
      uint32_t item;
      std::vector<uint32_t> path;
    };
    std::vector<Visit> todo{{node, item, {}}};
    while (!todo.empty()) {
      Visit v = std::move(todo.back());
      todo.pop_back();
      const TermSketch::Item& want = sketch.items[v.item];
      if (want.variable >= 0) {
        // Another class would be another instance, which equals something else.
        if (!ledger_.closure.same(v.node, want.term)) return false;
        NodeId& bound = binding[static_cast<size_t>(want.variable)];
        if (!bound.valid()) bound = v.node;
        if (bound == v.node) continue;
        if (!conflict) return false;
        *conflict = {std::move(v.path), bound};
        continue;
      }
      if (!same_operator(v.node, want.term)) return false;
      for (uint32_t i = static_cast<uint32_t>(want.operands.size()); i-- > 0;) {
        Visit next{terms_.operands(v.node)[i], want.operands[i], v.path};
        next.path.push_back(i);
        todo.push_back(std::move(next));
      }
    }
    return true;
  }

  bool matches(NodeId node, const TermSketch& sketch, uint32_t item) const {
    Binding binding(variables_of(sketch));
    std::optional<Conflict> ignored;
    return match(node, sketch, item, binding, &ignored);
  }
  static size_t variables_of(const TermSketch& sketch) {
    int32_t most = 0;
    for (const TermSketch::Item& item : sketch.items) most = std::max(most, item.variable + 1);
    return static_cast<size_t>(most);
  }

  NodeId instantiate(const TermSketch& sketch, const Binding& binding) {
    std::vector<NodeId> built;
    for (const TermSketch::Item& item : sketch.items) {
      if (item.variable >= 0) {
        built.push_back(binding[static_cast<size_t>(item.variable)]);
        continue;
      }
      llvm::SmallVector<NodeId, 6> operands;
      for (uint32_t operand : item.operands) operands.push_back(built[operand]);
      llvm::ArrayRef<ValueId> given = terms_.attrs(item.term);
      llvm::SmallVector<ValueId, 6> attrs(given.begin(), given.end());
      built.push_back(terms_.add(terms_.node(item.term).op, attrs, operands));
      if (!built.back().valid()) return {};
    }
    return built.back();
  }

  const TermSketch& sketch(uint32_t application, bool left, uint32_t side) {
    auto& known = sketches_[{application, side * 2 + left}];
    if (!known)
      known = std::make_unique<TermSketch>(
          ledger_.sketch(ledger_.application(application), left, side));
    return *known;
  }

  // --- a step -----------------------------------------------------------------------------------

  void step(const Frame& f, const RuleApplication& a, uint32_t side, Binding binding) {
    uint32_t number = ledger_.equation(f.equation).application;
    std::vector<std::pair<uint32_t, NodeId>> partners;
    if (everywhere() && manner_ != ChainManner::Everywhere && a.left.size() > 1)
      partners = find_partners(f, number, side, binding);
    for (size_t i = 0; i < binding.size(); ++i)
      if (!binding[i].valid()) binding[i] = a.classes[i];
    const Rule& rule = ledger_.rule(a);
    bool native = rule.native != Native::No;
    if (!native && !conditions_hold(terms_, rule, {binding, a.values})) return fail();
    DerivationStep out;
    out.rule = a.rule, out.forward = f.forward;
    out.values = a.values, out.inlined = a.inlined;
    out.exchanges.push_back({at(f.place), other_side(number, f.forward, side, binding), side});
    for (auto [other, node] : partners)
      out.exchanges.push_back({node, other_side(number, f.forward, other, binding), other});
    out.classes = std::move(binding);
    for (const Exchange& exchange : out.exchanges)
      if (!exchange.to.valid()) return fail();
    if (everywhere())
      roots_ = exchanged(terms_, roots_, out.exchanges);
    else
      exchange_at(f.place, out.exchanges[0].to);
    out.after = roots_;
    steps_.push_back(std::move(out));
    pop();
  }

  NodeId other_side(uint32_t application, bool forward, uint32_t side, const Binding& binding) {
    return instantiate(sketch(application, !forward, side), binding);
  }

  /// Nodes of the present graph that the rule's other left sides match as they are, for what this
  /// one has bound. Not above the place: there the graph is still to be worked on.
  std::vector<std::pair<uint32_t, NodeId>> find_partners(const Frame& f, uint32_t application,
                                                         uint32_t side, Binding& binding) {
    const RuleApplication& a = ledger_.application(application);
    std::vector<std::pair<uint32_t, NodeId>> out;
    std::vector<NodeId> present = reachable_from(terms_, roots_), above;
    Place prefix{f.place.output, {}};
    above.push_back(at(prefix));
    for (uint32_t i : f.place.path) prefix.path.push_back(i), above.push_back(at(prefix));
    for (uint32_t other = 0; other < a.left.size(); ++other) {
      if (other == side) continue;
      NodeId recorded = (f.forward ? a.left : a.right)[other];
      const TermSketch& want = sketch(application, f.forward, other);
      for (NodeId node : present) {
        Binding tried = binding;
        uint32_t root = static_cast<uint32_t>(want.items.size() - 1);
        if (!ledger_.closure.same(node, recorded) || llvm::is_contained(above, node) ||
            want.items[root].variable >= 0 || !match(node, want, root, tried, nullptr))
          continue;
        binding = std::move(tried);
        out.push_back({other, node});
        break;
      }
    }
    return out;
  }

  void exchange_at(const Place& place, NodeId to) {
    std::vector<NodeId> way{roots_[place.output]};
    for (uint32_t i : place.path) way.push_back(terms_.operands(way.back())[i]);
    NodeId made = to;
    for (size_t i = place.path.size(); i-- > 0;) {
      llvm::SmallVector<NodeId, 6> operands(terms_.operands(way[i]).begin(),
                                            terms_.operands(way[i]).end());
      operands[place.path[i]] = made;
      llvm::SmallVector<ValueId, 6> attrs(terms_.attrs(way[i]).begin(), terms_.attrs(way[i]).end());
      made = terms_.add(terms_.node(way[i]).op, attrs, operands);
    }
    roots_[place.output] = made;
  }

  ExplainLedger& ledger_;
  Graph& terms_;
  std::vector<NodeId> roots_, goals_;
  ChainManner manner_;
  std::vector<Frame> stack_;
  std::vector<DerivationStep> steps_;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, std::unique_ptr<TermSketch>> sketches_;
  size_t work_ = 0;
  bool failed_ = false;
};

} // namespace

std::optional<std::vector<DerivationStep>> find_chain(ExplainLedger& ledger,
                                                      llvm::ArrayRef<NodeId> from,
                                                      llvm::ArrayRef<NodeId> to,
                                                      ChainManner manner) {
  return Chain(ledger, from, to, manner).run();
}

} // namespace tg
