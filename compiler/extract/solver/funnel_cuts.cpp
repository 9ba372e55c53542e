#include "compiler/extract/solver/funnel_cuts.h"

#include "compiler/extract/problem.h"

#include <algorithm>

namespace tg {

namespace {
constexpr double kPresent = 1e-6;    // x above this counts as used
constexpr double kInPart = 0.01;     // distance of partly used classes from 0 and 1
constexpr uint64_t kMostSteps = 2e7; // per separation, some nanoseconds each
constexpr double kThresholds[] = {0.05, 0.3, 0.5, 0.7, 0.95};
} // namespace

FunnelCutter::FunnelCutter(const ExtractionProblem& problem)
    : problem_(problem), order_(children_first(problem)), number_(problem.class_count()),
      there_(problem.class_count()), share_(problem.class_count()), in_(problem.class_count()) {}

std::vector<FoundedCut> FunnelCutter::separate(llvm::ArrayRef<double> x, size_t most) {
  x_ = x;
  steps_ = 0;
  take_present();
  std::vector<Found> found;
  for (uint32_t looked = 0; looked < present_.size() && steps_ < kMostSteps; ++looked) {
    next_ = (next_ + 1) % static_cast<uint32_t>(present_.size());
    uint32_t bottom = present_[next_].index;
    if (there_[bottom] > 1 - kInPart) continue;
    uint32_t top = find_top(bottom);
    if (top == UINT32_MAX) continue;
    Found best = best_cut(bottom, top);
    if (best.violation > kViolation) found.push_back(std::move(best));
  }
  llvm::stable_sort(found,
                    [](const Found& a, const Found& b) { return a.violation > b.violation; });
  if (found.size() > most) found.resize(most);
  std::vector<FoundedCut> cuts;
  for (Found& each : found) cuts.push_back(std::move(each.cut));
  return cuts;
}

void FunnelCutter::take_present() {
  std::fill(there_.begin(), there_.end(), 0);
  for (uint32_t n = 0; n < problem_.node_count(); ++n)
    there_[problem_.class_of({n}).index] += x_[n];
  present_.clear();
  for (ClassIx cls : order_) {
    if (there_[cls.index] < kInPart) continue;
    number_[cls.index] = static_cast<uint32_t>(present_.size());
    present_.push_back(cls);
  }
}

ClassIx FunnelCutter::largest_child(NodeIx node) const {
  ClassIx best;
  for (ClassIx child : problem_.children(node))
    if (share_[child.index] > (best.valid() ? share_[best.index] : 0)) best = child;
  return best;
}

/// Fills share_ and returns the class with the largest excess, or UINT32_MAX if there is none.
uint32_t FunnelCutter::find_top(uint32_t bottom) {
  std::fill(share_.begin(), share_.end(), 0);
  share_[bottom] = 1;
  double most = kViolation;
  uint32_t top = UINT32_MAX;
  steps_ += share_.size() / 8;
  for (uint32_t i = number_[bottom] + 1; i < present_.size(); ++i) {
    uint32_t cls = present_[i].index;
    double leads = 0;
    for (NodeIx node : problem_.nodes({cls})) {
      steps_ += 1 + problem_.children(node).size();
      if (x_[node.index] < kPresent) continue;
      if (ClassIx down = largest_child(node); down.valid())
        leads += x_[node.index] * share_[down.index];
    }
    share_[cls] = std::min(1.0, leads / there_[cls]);
    if (leads - there_[bottom] <= most) continue;
    most = leads - there_[bottom];
    top = cls;
  }
  return top;
}

FunnelCutter::Found FunnelCutter::best_cut(uint32_t bottom, uint32_t top) {
  Found best;
  for (double threshold : kThresholds) {
    Found found = cut_above(threshold, bottom, top);
    if (found.violation > best.violation) best = std::move(found);
  }
  return best;
}

/// Builds S from the top along the present nodes' largest_child(), while shares are above the
/// threshold.
FunnelCutter::Found FunnelCutter::cut_above(double threshold, uint32_t bottom, uint32_t top) {
  std::vector<uint32_t> members = {bottom, top};
  in_[bottom] = in_[top] = true;
  for (size_t i = 1; i < members.size(); ++i)
    for (NodeIx node : problem_.nodes({members[i]})) {
      ++steps_;
      if (!problem_.usable(node) || x_[node.index] < kPresent) continue;
      ClassIx down = largest_child(node);
      if (!down.valid() || share_[down.index] < threshold || in_[down.index]) continue;
      in_[down.index] = true;
      members.push_back(down.index);
    }
  Found found{there_[top], {{top}, {}}};
  for (uint32_t cls : members)
    for (NodeIx node : problem_.nodes({cls})) {
      auto inside = [&](ClassIx child) { return in_[child.index]; };
      if (!problem_.usable(node) || llvm::any_of(problem_.children(node), inside)) continue;
      found.cut.support.push_back(node);
      found.violation -= x_[node.index];
    }
  for (uint32_t cls : members) in_[cls] = false;
  return found;
}

} // namespace tg
