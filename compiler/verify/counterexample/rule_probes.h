// Both sides of a rule at an instance, compared element by element on numbers of every partition
// (rules/instances/partition.h): each tensor in its own dtype, integers wrapping (typed.h). First
// every partition that a tensor can have and of which the rule's class says something, then pairs
// of them.
//
// What a difference says:
// - integers alone: they have no rounding, so the rule is wrong;
// - integers that come of floats, and are no others where sums are rounded: the rule is wrong;
// - at an index out of range, beyond rounding: the rule is wrong;
// - special numbers (huge, denormal, infinite, NaN), or an overflow on the way: the rule is not
//   `exact`; other classes promise nothing there; an infinity at a pole (1 / 0) is no overflow;
// - otherwise what no rounding explains: wrong where the field parts the sides too, else the rule
//   goes through terms that are larger: it is `risky`. So it is where an infinity or NaN comes out
//   of one side alone (a division by zero that the other side does not have), and where a result
//   that is not a float changes.
#pragma once

#include "compiler/rules/instances/instance.h"
#include "compiler/rules/instances/partition.h"
#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"
#include "lang/core/support/random.h"

#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tg {

class RuleProbes {
public:
  /// The rule outlives the probes.
  RuleProbes(const Rule& rule, uint64_t seed) : rule_(rule), seed_(seed) {}

  /// Compares at one instance; `in_field` says whether the field took the sides for equal. Not
  /// another instance is needed where it returns true: the rule is wrong.
  bool refuted(const RuleInstance& instance, const Joined& sides, bool in_field);
  /// The same, at the partitions that refuted before, for another instance: counts nothing.
  bool refuted_alike(const Joined& sides, bool in_field);

  /// Whether ordinary inputs of this instance give finite numbers all the way: no constant is a
  /// divisor that is zero.
  static bool tame(const Joined& sides, uint64_t seed);

  /// The least class that fits all that was seen.
  Numerics observed() const { return observed_; }
  /// Inputs and both results where the class was seen: "x = [inf, 0.5], where the left side is nan
  /// and the right side 0.5".
  const std::string& where() const { return where_; }
  /// The same of the last refutation; "" if there was none.
  const std::string& refutation() const { return refutation_; }
  /// The instance was refuted by others.
  void forget_refutation() { refutation_.clear(); }

  /// Partitions of the rule's tensors that were compared, and pairs of them.
  size_t reached() const;
  size_t pairs() const { return pairs_.size(); }
  /// What a tensor admits and was never compared at: "x: negative, NaN".
  std::string unreached() const;
  /// Some result that was compared was an ordinary number on both sides.
  bool told() const { return told_; }

private:
  struct Leaf {
    NodeId node;
    uint32_t variable = 0;
    int64_t limit = 0; // of indices
    Partition partition{};
    bool sparse = false; // only some elements are of the partition
  };
  struct Finding {
    Numerics seen = Numerics::Exact;
    bool wrong = false;
    size_t output = 0, element = 0;
  };

  std::vector<Leaf> leaves_of(const Joined& sides) const;
  bool admits(const Joined& sides, const Leaf& leaf, Partition partition) const;
  std::optional<Partition> open_partition(const Joined& sides, const std::vector<Leaf>& leaves);
  void choose(const Joined& sides, std::vector<Leaf>& leaves, std::optional<Partition> open);
  TypedValues fill(const Graph& graph, const Leaf& leaf, uint64_t probe) const;
  /// Compares once at what the leaves have been given.
  Finding compare(const Joined& sides, const std::vector<Leaf>& leaves, uint64_t probe,
                  bool in_field);
  bool moved_by_rounding(const Joined& sides, const TypedLeaves& leaves, size_t output,
                         size_t element) const;
  void reach(const std::vector<Leaf>& leaves);
  void note_constants(const RuleInstance& instance);
  std::string describe(const Joined& sides, const std::vector<Leaf>& leaves, const Finding& found,
                       uint64_t probe) const;
  bool probe_once(const Joined& sides, std::vector<Leaf>& leaves, bool in_field,
                  std::optional<Partition> open);

  const Rule& rule_;
  uint64_t seed_, count_ = 0;
  Numerics observed_ = Numerics::Exact;
  std::string where_, refutation_;
  bool told_ = false;
  std::vector<double> thresholds_;                                  // of the instance at hand
  std::vector<Integer> whole_thresholds_;                           // the same for integers
  TypedRun run_;                                                    // of the last comparison
  std::map<uint32_t, std::bitset<kPartitions>> admitted_, reached_; // by class variable
  std::set<std::tuple<uint32_t, Partition, uint32_t, Partition>> pairs_;
  std::map<uint32_t, Partition> refuting_; // by class variable
};

} // namespace tg
