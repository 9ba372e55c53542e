// Walks with explicit stacks, since e-graphs can be as deep as they are large.
#include "compiler/extract/problem.h"

#include <algorithm>
#include <numeric>

namespace tg {

namespace {

/// Tarjan's algorithm over classes, with an edge to every child of every usable node.
class Components {
public:
  explicit Components(const ExtractionProblem& problem)
      : problem_(problem), order_(problem.class_count(), kNew), low_(problem.class_count()),
        on_stack_(problem.class_count()), component_(problem.class_count(), -1) {}

  std::vector<int32_t> run() {
    for (uint32_t c = 0; c < problem_.class_count(); ++c) {
      if (order_[c] == kNew) open(c);
      while (!frames_.empty()) step();
    }
    return std::move(component_);
  }

private:
  static constexpr uint32_t kNew = UINT32_MAX;
  struct Frame {
    uint32_t cls, node = 0, child = 0;
  };

  void open(uint32_t c) {
    order_[c] = low_[c] = next_++;
    stack_.push_back(c);
    on_stack_[c] = true;
    frames_.push_back({c});
  }

  void step() {
    Frame& frame = frames_.back();
    llvm::ArrayRef<NodeIx> nodes = problem_.nodes({frame.cls});
    if (frame.node == nodes.size()) return close(frame.cls);
    NodeIx node = nodes[frame.node];
    if (!problem_.usable(node) || frame.child == problem_.children(node).size()) {
      ++frame.node;
      frame.child = 0;
      return;
    }
    uint32_t cls = frame.cls, child = problem_.children(node)[frame.child++].index;
    if (order_[child] == kNew) return open(child);
    if (on_stack_[child]) low_[cls] = std::min(low_[cls], order_[child]);
  }

  void close(uint32_t c) {
    frames_.pop_back();
    if (!frames_.empty()) low_[frames_.back().cls] = std::min(low_[frames_.back().cls], low_[c]);
    if (low_[c] != order_[c]) return;
    bool cyclic = stack_.back() != c; // self-loops are not usable
    for (bool more = true; more;) {
      uint32_t member = stack_.back();
      stack_.pop_back();
      on_stack_[member] = false;
      if (cyclic) component_[member] = components_;
      more = member != c;
    }
    components_ += cyclic;
  }

  const ExtractionProblem& problem_;
  std::vector<uint32_t> order_, low_;
  std::vector<bool> on_stack_;
  std::vector<int32_t> component_;
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  uint32_t next_ = 0;
  int32_t components_ = 0;
};

} // namespace

std::vector<ClassIx> children_first(const ExtractionProblem& problem) {
  struct Frame {
    uint32_t cls, node = 0, child = 0;
  };
  std::vector<bool> seen(problem.class_count());
  std::vector<ClassIx> order;
  std::vector<Frame> stack;
  for (uint32_t c = 0; c < problem.class_count(); ++c) {
    if (!seen[c]) stack.push_back({c});
    seen[c] = true;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      auto nodes = problem.nodes({frame.cls});
      if (frame.node == nodes.size()) {
        order.push_back({frame.cls});
        stack.pop_back();
      } else if (frame.child == problem.children(nodes[frame.node]).size()) {
        ++frame.node;
        frame.child = 0;
      } else {
        uint32_t child = problem.children(nodes[frame.node])[frame.child++].index;
        if (!seen[child]) stack.push_back({child});
        seen[child] = true;
      }
    }
  }
  return order;
}

std::vector<uint32_t> independent_parts(const ExtractionProblem& problem) {
  std::vector<uint32_t> leader(problem.class_count());
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](uint32_t c) {
    while (leader[c] != c) c = leader[c] = leader[leader[c]];
    return c;
  };
  for (uint32_t n = 0; n < problem.node_count(); ++n)
    for (ClassIx child : problem.children({n}))
      leader[find(child.index)] = find(problem.class_of({n}).index);
  std::vector<uint32_t> number(leader.size(), UINT32_MAX), part(leader.size());
  uint32_t parts = 0;
  for (uint32_t c = 0; c < leader.size(); ++c) {
    uint32_t& known = number[find(c)];
    if (known == UINT32_MAX) known = parts++;
    part[c] = known;
  }
  return part;
}

std::vector<int32_t> cyclic_components(const ExtractionProblem& problem) {
  return Components(problem).run();
}

} // namespace tg
