// Compares both sides of a rule at an instance, element by element, on numbers of every partition
// (rules/instances/partition.h). Each tensor has its own dtype, and integers wrap (typed.h). First
// come all partitions that a tensor admits and that matter for the rule's class, then pairs of
// them.
//
// The meaning of a difference:
// - In integers only: they have no rounding, so the rule is wrong.
// - In integers computed from floats, which do not change if sums are rounded: the rule is wrong.
// - At an out-of-range index, beyond rounding: the rule is wrong.
// - At special numbers (huge, denormal, infinite, NaN), or with an intermediate overflow: the rule
//   is not `exact`; other classes promise nothing there. An infinity at a pole (1 / 0) is not an
//   overflow.
// - Otherwise, beyond rounding: the rule is wrong if the sides also differ in the field. If not, it
//   goes through larger terms and is `risky`. It is also `risky` if only one side gives an infinity
//   or NaN (a division by zero that the other side does not have), and if a result that is not a
//   float changes.
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
  /// The rule must outlive the probes.
  RuleProbes(const Rule& rule, uint64_t seed) : rule_(rule), seed_(seed) {}

  /// Compares at one instance; `in_field` is true if the sides are equal in the field. Returns true
  /// if the rule is wrong; then no other instance is needed.
  bool refuted(const RuleInstance& instance, const Joined& sides, bool in_field);
  /// The same at the partitions that refuted before, for another instance. Changes no counts.
  bool is_refuted_again(const Joined& sides, bool in_field);

  /// Returns true if ordinary inputs of this instance give finite intermediate results: no constant
  /// divisor is zero.
  static bool has_finite_values(const Joined& sides, uint64_t seed);

  /// The least class that fits all comparisons.
  Numerics observed() const { return observed_; }
  /// Inputs and both results that showed the class: "x = [inf, 0.5], where the left side is nan and
  /// the right side 0.5".
  const std::string& where() const { return where_; }
  /// Returns the same for the last refutation, or "".
  const std::string& refutation() const { return refutation_; }
  /// Forgets the refutation of an instance that other checks refuted.
  void forget_refutation() { refutation_.clear(); }

  /// Number of compared partitions of the rule's tensors, and of pairs of them.
  size_t reached() const;
  size_t pairs() const { return pairs_.size(); }
  /// Admitted partitions that were never compared: "x: negative, NaN".
  std::string unreached() const;
  /// True if some compared result was an ordinary number on both sides.
  bool told() const { return told_; }

private:
  struct Leaf {
    NodeId node;
    uint32_t variable = 0;
    int64_t limit = 0; // for indices
    Partition partition{};
    bool sparse = false; // only some elements are in the partition
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
  /// Compares once with the values given to the leaves.
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
  std::vector<double> thresholds_;                                  // of the current instance
  std::vector<Integer> whole_thresholds_;                           // the same for integers
  TypedRun run_;                                                    // the last comparison
  std::map<uint32_t, std::bitset<kPartitions>> admitted_, reached_; // by class variable
  std::set<std::tuple<uint32_t, Partition, uint32_t, Partition>> pairs_;
  std::map<uint32_t, Partition> refuting_; // by class variable
};

} // namespace tg
