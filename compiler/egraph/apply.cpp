#include "compiler/egraph/apply.h"

#include "compiler/rules/eval.h"

namespace tg {

namespace {

class Facts final : public ClassFacts {
public:
  Facts(const EGraph& egraph, llvm::ArrayRef<ClassId> classes)
      : egraph_(egraph), classes_(classes) {}
  TypeId type(uint32_t variable) const override {
    return class_at(egraph_, classes_[variable]).type;
  }
  bool weight_only(uint32_t variable) const override {
    return class_at(egraph_, classes_[variable]).weight_only();
  }
  bool constant(uint32_t variable) const override {
    return class_at(egraph_, classes_[variable]).has_constant();
  }

private:
  const EGraph& egraph_;
  llvm::ArrayRef<ClassId> classes_;
};

} // namespace

Outcome Applier::apply(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
                       llvm::ArrayRef<ClassId> classes, llvm::ArrayRef<ValueId> values) {
  classes_.assign(classes.begin(), classes.end());
  if (!check(rule, roots, values)) return Outcome::Refused;
  if (closes_cycle(roots)) return Outcome::Cyclic;
  if (!build(rule, roots)) return Outcome::Known;
  if (egraph_.recording()) note(rule, values);
  return Outcome::Applied;
}

/// Records the application. Both sides can be rebuilt from the bindings of the rule's variables.
void Applier::note(const CompiledRule& rule, llvm::ArrayRef<ValueId> values) {
  llvm::SmallVector<uint32_t, 24> words;
  for (ClassId id : classes_) words.push_back(id.index);
  for (ValueId value : values) words.push_back(value.index);
  egraph_.note_application(rule.id, words);
}

Outcome Applier::apply_single(const CompiledRule& rule, const uint32_t* row) {
  llvm::SmallVector<ClassId, 8> classes(rule.rule->class_vars);
  llvm::SmallVector<ValueId, 8> values(rule.rule->value_vars);
  ENodeId root{*row++};
  const PatternUse& use = rule.sources[0];
  for (uint32_t variable : use.class_map) classes[variable] = {*row++};
  for (uint32_t variable : use.value_map) values[variable] = {*row++};
  return apply(rule, root, classes, values);
}

Outcome Applier::apply_joint(const CompiledRule& rule, const JointRows& joint, size_t row) {
  llvm::SmallVector<ENodeId, 2> roots;
  llvm::SmallVector<ClassId, 8> classes;
  llvm::SmallVector<ValueId, 8> values;
  llvm::ArrayRef<uint32_t> words = joint.row(row);
  for (uint32_t word : words.take_front(joint.roots)) roots.push_back({word});
  for (uint32_t word : words.slice(joint.roots, joint.classes)) classes.push_back({word});
  for (uint32_t word : words.take_back(joint.values)) values.push_back({word});
  Outcome outcome = apply(rule, roots, classes, values);
  if (outcome != Outcome::Refused || !rule.symmetric) return outcome;
  // Exchange the bindings of the two sources.
  const PatternUse &a = rule.sources[0], &b = rule.sources[1];
  for (size_t i = 0; i < a.class_map.size(); ++i)
    if (a.class_map[i] != b.class_map[i])
      std::swap(classes[a.class_map[i]], classes[b.class_map[i]]);
  for (size_t i = 0; i < a.value_map.size(); ++i)
    if (a.value_map[i] != b.value_map[i]) std::swap(values[a.value_map[i]], values[b.value_map[i]]);
  std::swap(roots[0], roots[1]);
  return apply(rule, roots, classes, values);
}

Outcome Applier::apply_native(const CompiledRule& rule, ENodeId root) {
  return fuse_.apply(root, rule.id) ? Outcome::Applied : Outcome::Known;
}

TypeId Applier::type(PlanRef ref) const {
  return ref.is_step ? built_[ref.index].typing.type : class_at(egraph_, classes_[ref.index]).type;
}

/// Returns true if the rule applies, and determines the types of its steps, from the memo if known.
bool Applier::check(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
                    llvm::ArrayRef<ValueId> values) {
  llvm::SmallVector<uint32_t, 24> key{rule.id};
  for (ValueId value : values) key.push_back(value.index);
  for (ClassId id : classes_) {
    const EClass& c = egraph_.eclass(egraph_.find(id));
    key.push_back(c.type.index << 2 | c.flags);
  }
  for (ENodeId root : roots) key.push_back(class_at(egraph_, class_of(egraph_, root)).type.index);
  built_.assign(rule.plan.size(), {});
  CheckMemo::Verdict verdict = memo_.find(key);
  if (verdict.known) {
    for (size_t i = 0; i < verdict.steps.size(); ++i) built_[i].typing = verdict.steps[i];
    return verdict.applies;
  }
  bool applies = check_application(rule, roots, values);
  llvm::SmallVector<Typing, 8> steps;
  if (applies)
    for (const Built& built : built_) steps.push_back(built.typing);
  memo_.insert(key, applies, steps);
  return applies;
}

/// Checks conditions, and types bottom up, without building anything.
bool Applier::check_application(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
                                llvm::ArrayRef<ValueId> values) {
  Facts facts(egraph_, classes_);
  RuleMatch match{*rule.rule, egraph_.symbols(), values, facts};
  if (!conditions_hold(match)) return false;
  for (size_t i = 0; i < rule.plan.size(); ++i) {
    const BuildStep& step = rule.plan[i];
    AttrsId attrs = step.attrs;
    if (attrs.index == UINT32_MAX) {
      llvm::SmallVector<ValueId, 4> list;
      for (const TermAttr& attr : step.term->attrs) {
        std::optional<ValueId> value =
            attr.kind == TermAttr::Kind::Variable ? values[attr.variable] : attribute(match, attr);
        if (!value) return false;
        list.push_back(*value);
      }
      attrs = egraph_.symbols().attrs(list);
    }
    llvm::SmallVector<TypeId, 6> types;
    for (PlanRef operand : step.operands) types.push_back(type(operand));
    built_[i].typing = egraph_.infer(step.op, attrs, types);
    if (!built_[i].typing.ok()) return false;
  }
  for (size_t i = 0; i < roots.size(); ++i)
    if (!(type(rule.results[i]) == class_at(egraph_, class_of(egraph_, roots[i])).type))
      return false;
  return true;
}

/// Returns true if an operand of the new term is at or above a matched class, which would become
/// equal to a term over that operand. Operands of a single left side are below the match, so only
/// rules with several left sides can close a cycle here. Cycles closed by merges are left to
/// break_cycles().
bool Applier::closes_cycle(llvm::ArrayRef<ENodeId> roots) {
  if (!cycles_ || filter_ == CycleFilter::None) return false;
  if (filter_ == CycleFilter::Efficient && roots.size() < 2) return false;
  bool efficient = filter_ == CycleFilter::Efficient;
  for (ClassId operand : classes_)
    for (ENodeId root : roots) {
      ClassId home = class_of(egraph_, root);
      if (efficient ? cycles_->descends(operand, home) : cycles_->reaches(operand, home))
        return true;
    }
  return false;
}

ClassId Applier::resolve(PlanRef ref) const {
  return ref.is_step ? built_[ref.index].id : classes_[ref.index];
}

bool Applier::build(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots) {
  bool news = false;
  for (size_t step = 0; step < rule.plan.size(); ++step) news |= build_step(rule, step, roots);
  for (size_t i = 0; i < roots.size(); ++i)
    news |=
        egraph_.merge(class_of(egraph_, roots[i]), resolve(rule.results[i]), {rule.id, roots[i]});
  return news;
}

/// A step that is a result is added directly to the matched class, without a new class and a merge.
bool Applier::build_step(const CompiledRule& rule, size_t index, llvm::ArrayRef<ENodeId> roots) {
  const BuildStep& step = rule.plan[index];
  Built& built = built_[index];
  llvm::SmallVector<ClassId, 6> children;
  for (PlanRef operand : step.operands) children.push_back(resolve(operand));
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!(rule.results[i] == PlanRef{true, static_cast<uint32_t>(index)})) continue;
    built.id = class_of(egraph_, roots[i]);
    return egraph_.add_equal(built.id, step.op, built.typing, children, {rule.id, roots[i]});
  }
  built.id = egraph_.add(step.op, built.typing, children, {rule.id, roots[0]});
  return false;
}

} // namespace tg
