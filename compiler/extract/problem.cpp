// Implements the indexes of the problem form and the checker of solutions: a depth-first walk from
// the roots over the chosen nodes with an explicit stack. A class that is reached while it is still
// open closes a cycle.
#include "compiler/extract/problem.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tg {

ClassIx ExtractionProblem::add_class() {
  stored_bytes_.push_back(0);
  return {static_cast<uint32_t>(stored_bytes_.size() - 1)};
}

NodeIx ExtractionProblem::add_node(ClassIx cls, double cost, llvm::ArrayRef<ClassIx> children) {
  assert(cost > -kInfiniteCost && "a cost is neither NaN nor -infinity");
  assert(cls.index < class_count() && "the class exists");
  NodeRow row;
  row.cls = cls;
  row.cost = cost;
  row.first_child = static_cast<uint32_t>(children_.size());
  row.child_count = static_cast<uint32_t>(children.size());
  children_.insert(children_.end(), children.begin(), children.end());
  nodes_.push_back(row);
  return {static_cast<uint32_t>(nodes_.size() - 1)};
}

namespace {

/// Sorts entries by class (counting sort). `visit(emit)` calls emit(class, node) for each entry, in
/// the same order each time.
template <class Visit>
void index_by_class(size_t classes, std::vector<uint32_t>& start, std::vector<NodeIx>& entries,
                    Visit visit) {
  start.assign(classes + 1, 0);
  visit([&](ClassIx cls, NodeIx) { ++start[cls.index + 1]; });
  for (size_t i = 0; i < classes; ++i) start[i + 1] += start[i];
  entries.resize(start[classes]);
  std::vector<uint32_t> next(start.begin(), start.end() - 1);
  visit([&](ClassIx cls, NodeIx node) { entries[next[cls.index]++] = node; });
}

} // namespace

void ExtractionProblem::seal() {
  has_rewards_ = false;
  index_by_class(class_count(), class_start_, class_nodes_, [&](auto emit) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) emit(nodes_[i].cls, NodeIx{i});
  });
  index_by_class(class_count(), user_start_, class_users_, [&](auto emit) {
    std::vector<uint32_t> seen(class_count(), UINT32_MAX); // last node that listed the class
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      for (ClassIx child : children({i})) {
        assert(child.index < class_count() && "children exist");
        if (seen[child.index] == i) continue;
        seen[child.index] = i;
        emit(child, NodeIx{i});
      }
    }
  });
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    NodeRow& row = nodes_[i];
    row.usable = !row.forbidden && row.cost != kInfiniteCost &&
                 llvm::find(children({i}), row.cls) == children({i}).end();
    has_rewards_ |= row.usable && row.cost < 0;
  }
}

namespace {

/// Walks over the chosen nodes depth first; fills `order` and `fault`.
class ChoiceWalk {
public:
  ChoiceWalk(const ExtractionProblem& problem, const Choice& choice, CheckedChoice& out)
      : problem_(problem), choice_(choice), out_(out), state_(problem.class_count(), State::New) {}

  void run() {
    for (ClassIx root : problem_.roots()) {
      if (root.index >= problem_.class_count()) out_.fault = "a root does not name a class";
      if (!out_.fault.empty() || !open(root)) return;
      while (!stack_.empty())
        if (!step()) return;
    }
  }

private:
  enum class State : uint8_t { New, Open, Done };
  struct Frame {
    ClassIx cls;
    uint32_t next_child = 0;
  };

  bool open(ClassIx cls) {
    if (state_[cls.index] == State::Done) return true;
    if (state_[cls.index] == State::Open)
      return fail(llvm::formatv("class {0} needs itself", cls.index));
    NodeIx node = choice_[cls];
    if (!node.valid()) return fail(llvm::formatv("class {0} has no node", cls.index));
    if (node.index >= problem_.node_count() || !(problem_.class_of(node) == cls))
      return fail(llvm::formatv("the node of class {0} belongs to another class", cls.index));
    if (!problem_.usable(node))
      return fail(llvm::formatv("the node of class {0} must not be used", cls.index));
    state_[cls.index] = State::Open;
    stack_.push_back({cls});
    return true;
  }

  bool step() {
    Frame& frame = stack_.back();
    auto children = problem_.children(choice_[frame.cls]);
    if (frame.next_child < children.size()) return open(children[frame.next_child++]);
    state_[frame.cls.index] = State::Done;
    out_.order.push_back(frame.cls);
    stack_.pop_back();
    return true;
  }

  bool fail(std::string fault) { return out_.fault = std::move(fault), false; }

  const ExtractionProblem& problem_;
  const Choice& choice_;
  CheckedChoice& out_;
  std::vector<State> state_;
  std::vector<Frame> stack_;
};

} // namespace

CheckedChoice check_choice(const ExtractionProblem& problem, const Choice& choice) {
  CheckedChoice out;
  if (choice.node.size() != problem.class_count()) {
    out.fault = "the choice is of another problem";
    return out;
  }
  ChoiceWalk(problem, choice, out).run();
  if (!out.ok()) return out;

  std::vector<double> tree(problem.class_count(), 0.0);
  std::vector<bool> stored(problem.class_count());
  for (ClassIx cls : out.order) {
    NodeIx node = choice[cls];
    out.dag_cost += problem.cost(node);
    double& sum = tree[cls.index] = problem.cost(node);
    for (ClassIx child : problem.children(node)) {
      sum = add_costs(sum, tree[child.index]);
      if (problem.load(node) || stored[child.index]) continue;
      stored[child.index] = true;
      out.stored_bytes += problem.stored_bytes(child);
    }
  }
  for (ClassIx root : problem.roots()) out.tree_cost = add_costs(out.tree_cost, tree[root.index]);
  return out;
}

void trim(const ExtractionProblem& problem, Choice& choice) {
  CheckedChoice checked = check_choice(problem, choice);
  assert(checked.ok() && "trim() requires a complete choice");
  Choice kept(choice.node.size());
  for (ClassIx cls : checked.order) kept.node[cls.index] = choice[cls];
  choice = std::move(kept);
}

} // namespace tg
