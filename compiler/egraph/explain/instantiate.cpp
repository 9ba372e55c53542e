#include "compiler/egraph/explain/instantiate.h"

#include "compiler/egraph/explain/term_closure.h"
#include "compiler/rules/sides.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

/// The bindings of a rule's variables at one size, and its terms there.
struct Bound {
  std::vector<NodeId> classes;
  std::vector<ValueId> values;
  std::vector<NodeId> built; // by TermId
  NodeBinding binding() const { return {classes, values}; }
};

/// The images of terms.
class Images {
public:
  bool has(uint32_t term) const { return known_.count(term) != 0; }
  NodeId of(NodeId term) const {
    auto found = known_.find(term.index);
    return found == known_.end() ? NodeId{} : found->second;
  }
  /// Returns false if the term has an image already, which stays.
  bool set(NodeId term, NodeId image) { return known_.try_emplace(term.index, image).second; }

private:
  llvm::DenseMap<uint32_t, NodeId> known_;
};

class Instantiation {
public:
  Instantiation(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source)
      : chain_(chain), rules_(rules), old_(chain.terms),
        equal_(old_), out_{Derivation(source.shared_symbols()), {}}, new_(out_.chain.terms) {
    for (const DerivationStep& step : chain.steps) steps_.push_back(&step);
    for (const DerivationStep& step : chain.makers) steps_.push_back(&step);
    equal_.include_new_nodes();
  }

  Instantiated run(const Graph& source) {
    match_source(source);
    std::vector<size_t> open(steps_.size());
    for (size_t i = 0; i < open.size(); ++i) open[i] = i;
    for (size_t before = open.size() + 1; open.size() < before;) {
      before = open.size();
      llvm::erase_if(open, [&](size_t i) { return apply(*steps_[i]); });
    }
    out_.skipped = std::move(open);
    make_end();
    trim(out_.chain);
    return std::move(out_);
  }

private:
  /// Gives the old source's terms their images. A source may lack an operator that does nothing at
  /// its sizes (a slice of the whole axis): then operator and operand have one image. Any other
  /// difference ends the comparison of these operands, and steps over them do not apply.
  void match_source(const Graph& source) {
    Translation into(source, new_);
    std::vector<std::pair<NodeId, NodeId>> open;
    for (size_t o = chain_.start.size(); o-- > 0;)
      open.push_back({chain_.start[o], source.outputs()[o].node});
    while (!open.empty()) {
      auto [term, node] = open.back();
      open.pop_back();
      if (!image_.set(term, into(node))) continue;
      llvm::ArrayRef<NodeId> then = old_.operands(term), now = source.operands(node);
      bool same = old_.node(term).op == source.node(node).op && then.size() == now.size();
      if (!same && then.size() == 1) open.push_back({then[0], node});
      for (size_t i = 0; same && i < then.size(); ++i) open.push_back({then[i], now[i]});
    }
    for (const GraphOutput& output : source.outputs())
      out_.chain.start.push_back(into(output.node));
  }

  // --- result ------------------------------------------------------------------------------------

  /// Makes the outputs: of each term of the source the equal term of the old result, if the steps
  /// that apply lead there, else the term itself over what its operands became.
  void make_end() {
    std::vector<bool> in_result = below(chain_.end), in_source = below(chain_.start);
    llvm::DenseMap<uint32_t, NodeId> made;
    for (uint32_t term = 0; term < in_source.size(); ++term) {
      if (!in_source[term]) continue;
      llvm::ArrayRef<uint32_t> members = equal_.members({term});
      auto final = llvm::find_if(
          members, [&](uint32_t member) { return member < in_result.size() && in_result[member]; });
      NodeId image = final == members.end() ? NodeId{} : image_or_equal({*final});
      made[term] = image.valid() ? image : over_operands({term}, made);
      out_.replaced += !image.valid() && final != members.end();
    }
    for (NodeId output : chain_.start) out_.chain.end.push_back(made.lookup(output.index));
    keep_proved_outputs();
  }

  /// Returns, by term, those that `roots` reach.
  std::vector<bool> below(llvm::ArrayRef<NodeId> roots) const {
    std::vector<bool> seen(old_.size());
    std::vector<NodeId> open(roots.begin(), roots.end());
    while (!open.empty()) {
      NodeId term = open.back();
      open.pop_back();
      if (seen[term.index]) continue;
      seen[term.index] = true;
      llvm::append_range(open, old_.operands(term));
    }
    return seen;
  }

  NodeId over_operands(NodeId term, const llvm::DenseMap<uint32_t, NodeId>& made) {
    NodeId its = image_.of(term);
    llvm::ArrayRef<NodeId> below = old_.operands(term);
    if (!its.valid() || below.empty()) return its;
    if (its == image_.of(below[0])) return made.lookup(below[0].index); // does nothing at this size
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : below) operands.push_back(made.lookup(operand.index));
    llvm::SmallVector<ValueId, 6> attrs(new_.attrs(its).begin(), new_.attrs(its).end());
    bool same = new_.node(its).op == old_.node(term).op &&
                llvm::all_of(operands, [](NodeId n) { return n.valid(); });
    NodeId again = same ? new_.add(new_.node(its).op, attrs, operands) : NodeId{};
    return again.valid() ? again : its;
  }

  /// Leaves outputs as they are in the source if their equality does not follow from the steps.
  /// (Two terms of the new size may be one term at the old size.)
  void keep_proved_outputs() {
    Derivation& chain = out_.chain;
    TermClosure equal(new_);
    for (uint32_t i = 0; i < chain.steps.size(); ++i)
      for (const Exchange& exchange : chain.steps[i].exchanges)
        equal.merge(exchange.from, exchange.to, i);
    equal.include_new_nodes();
    for (size_t i = 0; i < chain.end.size(); ++i) {
      if (chain.end[i].valid() && equal.same(chain.start[i], chain.end[i])) continue;
      chain.end[i] = chain.start[i];
      ++out_.replaced;
    }
  }

  // --- images ----------------------------------------------------------------------------------

  /// Returns the image of a term, made from its operands' images if it has none yet.
  NodeId image(NodeId root) {
    for (NodeId term : without_image(root)) set_congruent(term);
    return image_.of(root);
  }

  /// The same, but terms without an image get that of an equal term.
  NodeId image_or_equal(NodeId root) {
    for (NodeId term : without_image(root)) {
      if (set_congruent(term)) continue;
      llvm::ArrayRef<uint32_t> members = equal_.members(term);
      auto other = llvm::find_if(members, [&](uint32_t member) { return image_.has(member); });
      if (other == members.end()) continue; // its user has an equal term, in the end the source
      image_.set(term, image_.of({*other}));
      ++out_.replaced;
    }
    return image_.of(root);
  }

  /// Returns the term and those below it that have no image, operands first.
  std::vector<NodeId> without_image(NodeId root) const {
    std::vector<NodeId> found, open{root};
    llvm::DenseSet<uint32_t> seen;
    while (!open.empty()) {
      NodeId term = open.back();
      open.pop_back();
      if (image_.has(term.index) || !seen.insert(term.index).second) continue;
      found.push_back(term);
      llvm::append_range(open, old_.operands(term));
    }
    llvm::sort(found, [](NodeId a, NodeId b) { return a.index < b.index; });
    return found;
  }

  /// Makes a term of the images of its operands, with the attributes of a congruent term's image.
  bool set_congruent(NodeId term) {
    NodeId like = congruent_with_image(term);
    if (!like.valid()) return false;
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : old_.operands(term)) operands.push_back(image_.of(operand));
    if (!llvm::all_of(operands, [](NodeId n) { return n.valid(); })) return false;
    NodeId its = image_.of(like);
    if (image_.of(old_.operands(like)[0]) == its)
      return image_.set(term, operands[0]); // does nothing
    llvm::SmallVector<ValueId, 6> attrs(new_.attrs(its).begin(), new_.attrs(its).end());
    NodeId made = new_.add(new_.node(its).op, attrs, operands);
    if (!made.valid() || !(new_.node(made).type == new_.node(its).type)) return false;
    return image_.set(term, made);
  }

  NodeId congruent_with_image(NodeId term) const {
    const Node& node = old_.node(term);
    if (node.operand_count == 0) return {};
    for (uint32_t member : equal_.members(term)) {
      const Node& other = old_.node({member});
      if (other.op != node.op || !(other.attrs == node.attrs) ||
          other.operand_count != node.operand_count || !image_.has(member))
        continue;
      if (llvm::all_of(llvm::zip(old_.operands(term), old_.operands({member})), [&](auto pair) {
            return equal_.same(std::get<0>(pair), std::get<1>(pair));
          }))
        return {member};
    }
    return {};
  }

  // --- steps -----------------------------------------------------------------------------------

  static NodeId left_of(const DerivationStep& step, const Exchange& exchange) {
    return step.forward ? exchange.from : exchange.to;
  }
  static NodeId right_of(const DerivationStep& step, const Exchange& exchange) {
    return step.forward ? exchange.to : exchange.from;
  }

  bool apply(const DerivationStep& step) {
    const Rule& rule = rules_[step.rule];
    return rule.native == Native::No ? apply_rule(rule, step) : apply_fused(step);
  }

  bool apply_rule(const Rule& rule, const DerivationStep& step) {
    Bound then{step.classes, step.values, {}}, now{{}, std::vector<ValueId>(rule.value_vars), {}};
    for (NodeId bound : step.classes)
      now.classes.push_back(bound.valid() ? image(bound) : NodeId{});
    DerivationStep made{step.rule, true, {}, {}, {}};
    for (uint32_t side = 0; side < rule.lhs.size(); ++side) {
      NodeId left = build_side(old_, rule, rule.lhs[side], then.binding(), then.built);
      if (!left.valid()) continue; // this chain does not use the side
      equal_.include_new_nodes();
      NodeId its = image(left);
      if (!its.valid() || !bind_values(rule, rule.lhs[side], its, now.values)) return false;
      made.exchanges.push_back({its, {}, side});
    }
    if (made.exchanges.empty() || !conditions_hold(new_, rule, now.binding())) return false;
    for (Exchange& exchange : made.exchanges) {
      NodeId left = build_side(new_, rule, rule.lhs[exchange.side], now.binding(), now.built);
      exchange.to = build_side(new_, rule, rule.rhs[exchange.side], now.binding(), now.built);
      if (!(left == exchange.from) || !exchange.to.valid() ||
          !(new_.node(left).type == new_.node(exchange.to).type))
        return false;
    }
    for (const Exchange& exchange : made.exchanges)
      build_side(old_, rule, rule.rhs[exchange.side], then.binding(), then.built);
    made.classes = now.classes, made.values = now.values;
    keep(step, std::move(made), then.built, now.built);
    return true;
  }

  /// Binds value variables to the attributes of a node and of those below it.
  bool bind_values(const Rule& rule, TermId root, NodeId node, std::vector<ValueId>& values) const {
    llvm::SmallVector<std::pair<TermId, NodeId>, 16> open{{root, node}};
    while (!open.empty()) {
      auto [id, at] = open.pop_back_val();
      const Term& term = rule.terms[id];
      if (term.kind != Term::Kind::Op) continue;
      if (new_.node(at).op != term.op || new_.node(at).operand_count != term.operands.size())
        return false;
      for (size_t slot = 0; slot < term.attrs.size(); ++slot)
        if (term.attrs[slot].kind == TermAttr::Kind::Variable)
          values[term.attrs[slot].variable] = new_.attrs(at)[slot];
      for (size_t i = 0; i < term.operands.size(); ++i)
        open.push_back({term.operands[i], new_.operands(at)[i]});
    }
    return true;
  }

  /// Records a step that applies, with the images of the terms that it built.
  void keep(const DerivationStep& step, DerivationStep made, llvm::ArrayRef<NodeId> then,
            llvm::ArrayRef<NodeId> now) {
    for (size_t id = 0; id < then.size(); ++id)
      if (then[id].valid() && now[id].valid()) image_.set(then[id], now[id]);
    equal_.include_new_nodes();
    for (const Exchange& exchange : step.exchanges)
      equal_.merge(exchange.from, exchange.to, static_cast<uint32_t>(out_.chain.steps.size()));
    out_.chain.steps.push_back(std::move(made));
  }

  /// The body of a fused_map has no sizes.
  bool apply_fused(const DerivationStep& step) {
    const Exchange& exchange = step.exchanges[0];
    NodeId left = left_of(step, exchange), right = right_of(step, exchange);
    DerivationStep made{step.rule, true, {}, {}, {}, step.inlined};
    for (NodeId bound : step.classes) made.classes.push_back(image(bound));
    NodeId its = image(left);
    if (!its.valid() || !llvm::all_of(made.classes, [](NodeId n) { return n.valid(); }))
      return false;
    llvm::SmallVector<ValueId, 1> attrs;
    for (ValueId value : old_.attrs(right))
      attrs.push_back(new_.symbols().value(old_.symbols().value(value)));
    NodeId fused = new_.add(OpKind::FusedMap, attrs, made.classes);
    if (!fused.valid()) return false;
    NodeId plain = without_fused(new_, its, plain_);
    if (!plain.valid() || !(plain == without_fused(new_, fused, plain_)) ||
        !(new_.node(its).type == new_.node(fused).type))
      return false;
    made.exchanges.push_back({its, fused, 0});
    keep(step, std::move(made), {right}, {fused});
    return true;
  }

  const Derivation& chain_;
  llvm::ArrayRef<Rule> rules_;
  std::vector<const DerivationStep*> steps_;
  Graph old_;         // a copy, to which sides of rules are added
  TermClosure equal_; // over `old_`, by the steps that apply
  Instantiated out_;
  Graph& new_;
  Images image_;
  llvm::DenseMap<uint32_t, NodeId> plain_;
};

} // namespace

Instantiated instantiate(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source) {
  assert(chain.start.size() == source.outputs().size());
  return Instantiation(chain, rules, source).run(source);
}

} // namespace tg
