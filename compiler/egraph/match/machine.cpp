#include "compiler/egraph/match/machine.h"

namespace tg {

void Machine::match(const Pattern& pattern, ENodeId root, uint32_t since, size_t limit,
                    Rows& rows) {
  fresh_only_ = true;
  limit_ = limit;
  run(pattern, root, since, rows);
}

void Machine::match_all(const Pattern& pattern, ENodeId root, uint32_t since, Rows& rows) {
  fresh_only_ = false;
  limit_ = SIZE_MAX;
  run(pattern, root, since, rows);
}

void Machine::run(const Pattern& pattern, ENodeId root, uint32_t since, Rows& rows) {
  if (egraph_.node(root).state != 0) return; // dead or filtered
  uint32_t depth = static_cast<uint32_t>(pattern.steps.size());
  levels_.resize(depth);
  classes_.resize(pattern.class_vars);
  values_.resize(pattern.value_vars);
  if (!accept(pattern.steps[0], root)) return;
  levels_[0].node = root.index;
  levels_[0].fresh = egraph_.node(root).stamp >= since;
  if (depth == 1) {
    if (levels_[0].fresh || !fresh_only_) emit(pattern, rows);
    return;
  }
  uint32_t level = 1;
  open(pattern, level);
  while (level > 0) {
    if (!advance(pattern, level, since)) {
      --level;
    } else if (level + 1 == depth) {
      emit(pattern, rows);
      if (rows.size() >= limit_) return;
    } else {
      open(pattern, ++level);
    }
  }
}

void Machine::open(const Pattern& pattern, uint32_t level) {
  const PatternStep& step = pattern.steps[level];
  ClassId id = egraph_.children({levels_[step.parent].node})[step.position];
  const EClass& c = egraph_.eclass(id);
  levels_[level].cursor = c.first_node;
  levels_[level].left = c.node_count;
}

bool Machine::advance(const Pattern& pattern, uint32_t level, uint32_t since) {
  Level& l = levels_[level];
  const PatternStep& step = pattern.steps[level];
  bool must_be_fresh = fresh_only_ && level + 1 == pattern.steps.size();
  while (l.left != 0) {
    ENodeId id{l.cursor};
    const ENode& n = egraph_.node(id);
    l.cursor = n.next;
    --l.left;
    if (n.op != step.op || n.state != 0) continue;
    bool fresh = levels_[level - 1].fresh || n.stamp >= since;
    if (must_be_fresh && !fresh) continue;
    if (!accept(step, id)) continue;
    l.node = id.index;
    l.fresh = fresh;
    return true;
  }
  return false;
}

bool Machine::accept(const PatternStep& step, ENodeId id) {
  const ENode& n = egraph_.node(id);
  if (n.op != step.op || n.arity != step.arity) return false;
  if (step.attrs.index != UINT32_MAX) {
    if (!(n.attrs == step.attrs)) return false;
  } else {
    llvm::ArrayRef<ValueId> attrs = egraph_.symbols().attrs(n.attrs);
    for (const PatternTest& test : step.attr_tests) {
      ValueId value = attrs[test.place];
      if (test.kind == PatternTest::Kind::Bind)
        values_[test.variable] = value.index;
      else if (test.kind == PatternTest::Kind::Literal ? !(value == test.value)
                                                       : value.index != values_[test.variable])
        return false;
    }
  }
  llvm::ArrayRef<ClassId> children = egraph_.children(id);
  for (const PatternTest& test : step.child_tests) {
    ClassId child = children[test.place];
    if (test.kind == PatternTest::Kind::Bind)
      classes_[test.variable] = child.index;
    else if (test.kind == PatternTest::Kind::Same
                 ? child.index != classes_[test.variable]
                 : !(egraph_.eclass(child).type == egraph_.symbols().none_type()))
      return false;
  }
  return true;
}

void Machine::emit(const Pattern& pattern, Rows& rows) const {
  rows.width = pattern.width();
  if (!fresh_only_) rows.fresh.push_back(levels_.back().fresh);
  rows.words.push_back(levels_[0].node);
  rows.words.insert(rows.words.end(), classes_.begin(), classes_.end());
  rows.words.insert(rows.words.end(), values_.begin(), values_.end());
}

} // namespace tg
