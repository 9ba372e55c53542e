// TopK and selective tuning. Cliques by the algorithm of Bron and Kerbosch with a pivot,
// on bit sets.
#include "bench/paper/tuning/baselines.h"

#include "runtime/tune/stages.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/STLExtras.h>

#include <numeric>

namespace tg::paper {

using namespace tune;

namespace {

/// Returns the number of ways to write a loop as `parts` ordered factors.
double factorizations(int64_t length, int parts) {
  double ways = 1;
  while (length > 1) {
    int64_t prime = split_by_least_prime(length)[1];
    for (int power = 1; length % prime == 0; ++power, length /= prime)
      ways *= static_cast<double>(power + parts - 1) / power; // binomial, factor by factor
  }
  return ways;
}

/// Returns the number of ways to choose the factors inside a block and inside a fetch,
/// one per list that divides the loops.
double choices(const Extents& space, const Extents& reduction) {
  double ways = 1;
  for (int64_t length : space) ways *= factorizations(length, 5);
  for (int64_t length : reduction) ways *= factorizations(length, 3);
  return ways;
}

Extents common(const Extents& a, const Extents& b) {
  Extents all;
  for (size_t i = 0; i < a.size(); ++i) all.push_back(std::gcd(a[i], b[i]));
  return all;
}

class LargestClique {
public:
  explicit LargestClique(const std::vector<llvm::BitVector>& neighbours)
      : neighbours_(neighbours) {}

  llvm::BitVector among(const llvm::BitVector& nodes) {
    best_ = llvm::BitVector(nodes.size());
    grow(llvm::BitVector(nodes.size()), nodes);
    return best_;
  }

private:
  /// `open`: nodes that are neighbours of all nodes of `clique`.
  void grow(const llvm::BitVector& clique, llvm::BitVector open) {
    if (clique.count() + open.count() <= best_.count()) return;
    if (open.none()) {
      best_ = clique;
      return;
    }
    auto pivot = static_cast<unsigned>(open.find_first());
    llvm::BitVector others = open;
    others.reset(neighbours_[pivot]);
    for (unsigned node : others.set_bits()) {
      llvm::BitVector larger = clique, next = open;
      larger.set(node);
      next &= neighbours_[node];
      grow(larger, next);
      open.reset(node);
    }
  }

  const std::vector<llvm::BitVector>& neighbours_;
  llvm::BitVector best_;
};

} // namespace

std::optional<Program> with_tiles_of(const Operator& target, const Program& reused) {
  Program program = reused;
  program.op = target;
  auto fit = [](auto& splits, const Extents& loops) {
    for (size_t i = 0; i < splits.size(); ++i) {
      int64_t inner = 1;
      for (size_t level = 1; level < splits[i].size(); ++level) inner *= splits[i][level];
      if (loops[i] % inner != 0) return false;
      splits[i][0] = loops[i] / inner;
    }
    return true;
  };
  if (!fit(program.tile.space, target.space) || !fit(program.tile.reduction, target.reduction))
    return {};
  if (!check(program).ok()) return {}; // fetches along another axis than the load axis
  return program;
}

TopResult tune_by_top(const Operator& target, llvm::ArrayRef<Measured> ranking, size_t count,
                      Device& device) {
  Trials trials(device, target);
  for (size_t i = 0; i < ranking.size() && (i < count || !trials.best()); ++i)
    if (std::optional<Program> program = with_tiles_of(target, ranking[i].program))
      trials.measure(*program);
  TopResult result{{}, trials.count()};
  if (const Measured* best = trials.best()) result.best = *best;
  return result;
}

double overlap(const Operator& a, const Operator& b) {
  if (a.type != b.type || sketches_of(a) != sketches_of(b)) return 0;
  double both = choices(common(a.space, b.space), common(a.reduction, b.reduction));
  return both / (choices(a.space, a.reduction) + choices(b.space, b.reduction) - both);
}

std::vector<std::vector<size_t>> clusters(llvm::ArrayRef<Operator> operators, double least) {
  auto count = static_cast<unsigned>(operators.size());
  std::vector<llvm::BitVector> neighbours(count, llvm::BitVector(count));
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < count; ++j)
      if (i != j && overlap(operators[i], operators[j]) >= least) neighbours[i].set(j);
  std::vector<std::vector<size_t>> found;
  for (llvm::BitVector left(count, true); left.any();) {
    llvm::BitVector clique = LargestClique(neighbours).among(left);
    std::vector<size_t>& cluster = found.emplace_back();
    for (unsigned node : clique.set_bits()) cluster.push_back(node);
    left.reset(clique);
  }
  return found;
}

} // namespace tg::paper
