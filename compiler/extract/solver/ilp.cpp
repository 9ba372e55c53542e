// The loop around the solver: solve, then read the choice from the solution. If the choice has a
// cycle, forbid that cycle and solve again in the remaining time. The relaxation is also rounded:
// greedy with low costs for the nodes that the relaxation chose gives choices that are acyclic by
// construction.
#include "compiler/extract/solver/ilp.h"

#include "compiler/extract/answer.h"
#include "compiler/extract/solver/process.h"

#include <algorithm>

namespace tg {

namespace {

/// Returns one cycle for each class at which a walk from the roots over `choice` closes one. A
/// cycle is a list of classes, each needing the next, and the last the first. Each class is
/// walked once.
std::vector<std::vector<ClassIx>> find_cycles(const ExtractionProblem& problem,
                                              const Choice& choice) {
  enum class State : uint8_t { New, Open, Done };
  std::vector<State> state(problem.class_count(), State::New);
  struct Frame {
    ClassIx cls;
    uint32_t next = 0;
  };
  std::vector<Frame> stack;
  std::vector<std::vector<ClassIx>> cycles;
  auto visit = [&](ClassIx cls) {
    if (state[cls.index] == State::Open) {
      auto first = llvm::find_if(stack, [&](const Frame& f) { return f.cls == cls; });
      auto& cycle = cycles.emplace_back();
      for (; first != stack.end(); ++first) cycle.push_back(first->cls);
    }
    if (state[cls.index] != State::New || !choice[cls].valid()) return;
    state[cls.index] = State::Open;
    stack.push_back({cls});
  };
  for (ClassIx root : problem.roots()) {
    visit(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      auto children = problem.children(choice[frame.cls]);
      if (frame.next < children.size()) {
        visit(children[frame.next++]);
      } else {
        state[frame.cls.index] = State::Done;
        stack.pop_back();
      }
    }
  }
  return cycles;
}

/// Adds a row: of k classes on a cycle, at most k - 1 choose a node that needs the next. The row
/// forbids every cycle through these classes in this order, not only the one that was found.
void forbid_cycle(const ExtractionProblem& problem, llvm::ArrayRef<ClassIx> cycle,
                  MipModel& model) {
  llvm::SmallVector<MipModel::Entry, 16> row;
  for (size_t i = 0; i < cycle.size(); ++i) {
    ClassIx next = cycle[(i + 1) % cycle.size()];
    for (NodeIx node : problem.nodes(cycle[i]))
      if (llvm::is_contained(problem.children(node), next))
        row.push_back({static_cast<int32_t>(node.index), 1});
  }
  model.add_row(row, -kNoBound, static_cast<double>(cycle.size()) - 1);
}

class Rounds {
public:
  Rounds(OpenPart& part, const IlpOptions& options, double seconds,
         llvm::function_ref<bool()> stop_requested)
      : part_(part), problem_(part.problem()), options_(options), seconds_(seconds),
        asked_to_stop_(stop_requested) {}

  /// Returns why there is no proof.
  std::string run() {
    MipModel model = make_ilp(problem_, options_.cycles, asked_to_stop_);
    if (asked_to_stop_()) return "an interruption";
    for (int round = 0; round < options_.max_rounds; ++round) {
      double left = seconds_ - watch_.seconds();
      if (left <= 0) return kTimeLimit;
      set_start(model);
      auto stop = [this](const MipResult&) { return asked_to_stop_(); };
      MipResult result = solve_mip(model, {left, options_.memory_limit_bytes, stop});
      part_.raise(result.bound);
      if (!result.relaxation.empty()) round_off(result.relaxation);
      if (result.solution.empty()) return result.why;
      if (forbid_cycles(result, model)) continue;
      part_.offer(choice_of(problem_, result.solution), "ilp");
      part_.raise(result.bound);
      if (result.status != MipStatus::Optimal) return result.why;
      if (bound_proves(part_.cost, part_.bound)) part_.prove();
      return "";
    }
    return "the limit on rounds of cuts";
  }

private:
  /// Forbids the cycles of the solution; returns true if it has any.
  bool forbid_cycles(const MipResult& result, MipModel& model) {
    auto cycles = find_cycles(problem_, choice_of(problem_, result.solution));
    for (const auto& cycle : cycles) forbid_cycle(problem_, cycle, model);
    if (!cycles.empty()) round_off(result.solution);
    return !cycles.empty();
  }

  void round_off(llvm::ArrayRef<double> x) {
    part_.offer(extract_rounded(problem_, x, asked_to_stop_), "rounding");
  }

  /// Sets the best choice so far as the start, if all columns are nodes: the solver takes no
  /// partial starts.
  void set_start(MipModel& model) const {
    model.start.clear();
    if (!part_.best || model.columns() != problem_.node_count()) return;
    model.start.assign(model.columns(), 0.0);
    for (NodeIx node : part_.best->node)
      if (node.valid()) model.start[node.index] = 1;
  }

  OpenPart& part_;
  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  double seconds_;
  llvm::function_ref<bool()> asked_to_stop_;
  Stopwatch watch_;
};

} // namespace

std::string solve_ilp(OpenPart& part, const IlpOptions& options, double seconds,
                      llvm::function_ref<bool()> stop_requested) {
  return Rounds(part, options, seconds, stop_requested).run();
}

} // namespace tg
