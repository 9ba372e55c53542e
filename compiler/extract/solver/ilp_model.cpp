// Builds the integer program: node columns, rows that tie classes together, the byte limit if there
// is one, and optional ordering variables.
//
// Ordering (Real, Int): t(p) >= t(c) + step if p's chosen node needs c, for p and c in one strongly
// connected component; no cycle can close elsewhere.
#include "compiler/extract/poll.h"
#include "compiler/extract/problem.h"
#include "compiler/extract/solver/ilp.h"

#include <llvm/ADT/MapVector.h>

namespace tg {

namespace {

class IlpBuilder {
public:
  IlpBuilder(const ExtractionProblem& problem, llvm::function_ref<bool()> stop)
      : problem_(problem), poll_(stop), root_(problem.class_count()) {
    for (ClassIx root : problem.roots()) root_[root.index] = true;
  }

  MipModel build(IlpCycles cycles) {
    for (uint32_t n = 0; n < problem_.node_count(); ++n) {
      bool usable = problem_.usable({n});
      model_.add_column(usable ? problem_.cost({n}) : 0, 0, usable ? 1 : 0, true);
    }
    for (uint32_t c = 0; c < problem_.class_count() && !poll_.stopped(); ++c) {
      if (root_[c]) choose_one({c});
      for (const auto& [user, nodes] : users_by_class({c}))
        if (!root_[c]) need({c}, nodes);
    }
    if (problem_.has_rewards()) require_used_nodes();
    if (problem_.byte_limit() != kInfiniteCost) bound_bytes();
    if (cycles != IlpCycles::None) order(cycles == IlpCycles::Int);
    return std::move(model_);
  }

private:
  using NodeList = llvm::SmallVector<NodeIx, 4>;
  using Row = llvm::SmallVector<MipModel::Entry, 16>;

  /// Returns the usable nodes that need `cls`, by their class, in order of first use.
  llvm::MapVector<uint32_t, NodeList> users_by_class(ClassIx cls) const {
    llvm::MapVector<uint32_t, NodeList> users;
    for (NodeIx node : problem_.users(cls))
      if (problem_.usable(node)) users[problem_.class_of(node).index].push_back(node);
    return users;
  }

  static void add(Row& row, llvm::ArrayRef<NodeIx> nodes, double factor) {
    for (NodeIx node : nodes) row.push_back({static_cast<int32_t>(node.index), factor});
  }

  void choose_one(ClassIx cls) {
    Row row;
    add(row, problem_.nodes(cls), 1);
    model_.add_row(row, 1, 1);
  }

  void need(ClassIx cls, llvm::ArrayRef<NodeIx> users) {
    Row row;
    add(row, problem_.nodes(cls), 1);
    add(row, users, -1);
    poll_.after(kStepsForEntry * row.size());
    model_.add_row(row, 0, kNoBound);
  }

  /// With rewards, choosing more can cost less. So each class gets at most one node, and only
  /// nodes that a chosen node needs. Without cycles, the second row excludes every node that is not
  /// below a root.
  void require_used_nodes() {
    for (uint32_t c = 0; c < problem_.class_count() && !poll_.stopped(); ++c) {
      if (root_[c]) continue;
      Row one, needed;
      add(one, problem_.nodes({c}), 1);
      model_.add_row(one, -kNoBound, 1);
      for (NodeIx node : problem_.nodes({c})) {
        needed.assign(1, {static_cast<int32_t>(node.index), 1});
        for (NodeIx user : problem_.users({c}))
          if (problem_.usable(user)) needed.push_back({static_cast<int32_t>(user.index), -1});
        poll_.after(kStepsForEntry * needed.size());
        model_.add_row(needed, -kNoBound, 0);
      }
    }
  }

  /// Adds stored(c), which is 1 if a chosen node that is not a load node needs c. It is continuous,
  /// since the rows push it to 0 or 1.
  void bound_bytes() {
    Row total;
    for (uint32_t c = 0; c < problem_.class_count() && !poll_.stopped(); ++c) {
      if (problem_.stored_bytes({c}) <= 0) continue;
      int32_t stored = model_.add_column(0, 0, 1, false);
      total.push_back({stored, problem_.stored_bytes({c})});
      for (auto& [user, nodes] : users_by_class({c})) {
        Row row{{stored, 1}};
        for (NodeIx node : nodes)
          if (!problem_.load(node)) row.push_back({static_cast<int32_t>(node.index), -1});
        poll_.after(kStepsForEntry * row.size());
        if (row.size() > 1) model_.add_row(row, 0, kNoBound);
      }
    }
    model_.add_row(total, 0, problem_.byte_limit());
  }

  void order(bool integer) {
    std::vector<int32_t> component = cyclic_components(problem_);
    std::vector<uint32_t> size;
    for (int32_t c : component) {
      if (c < 0) continue;
      if (size.size() <= static_cast<size_t>(c)) size.resize(c + 1);
      ++size[c];
    }
    std::vector<int32_t> position(component.size(), -1); // the column of t(c)
    for (uint32_t c = 0; c < component.size(); ++c)
      if (component[c] >= 0)
        position[c] = model_.add_column(0, 0, integer ? size[component[c]] - 1 : 1, integer);
    for (uint32_t c = 0; c < component.size() && !poll_.stopped(); ++c) {
      if (component[c] < 0) continue;
      double members = size[component[c]];
      double step = integer ? 1 : 1 / members;
      double slack = (integer ? members - 1 : 1) + step; // voids the row if no such node is chosen
      for (auto& [user, nodes] : users_by_class({c})) {
        if (component[user] != component[c]) continue;
        Row row{{position[user], 1}, {position[c], -1}};
        add(row, nodes, -slack);
        poll_.after(kStepsForEntry * row.size());
        model_.add_row(row, step - slack, kNoBound);
      }
    }
  }

  static constexpr uint64_t kStepsForEntry = 10; // as counted by Poll

  const ExtractionProblem& problem_;
  Poll poll_;
  std::vector<bool> root_; // by class
  MipModel model_;
};

} // namespace

MipModel make_ilp(const ExtractionProblem& problem, IlpCycles cycles,
                  llvm::function_ref<bool()> stop) {
  return IlpBuilder(problem, stop).build(cycles);
}

} // namespace tg
