// Whether a rewrite rule is true: on many instances, drawn from the rule's own types and conditions
// (rules/instances/sample.h), both sides are built and compared over the prime field, and in
// float64 where that differs (equivalent.h). Every combination of the values of its enumerated
// attributes (activations, booleans, kinds of padding) that has instances is among them. Its class
// of numerics: rule_class.h.
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/support/stop.h"

#include <functional>
#include <string>

namespace tg {

struct RuleInstance;

/// Stands for the logarithm of no error at all: both sides are one graph.
inline constexpr double kSameGraph = -1000;

struct RuleCheckOptions {
  size_t instances = 200; // at which both sides are well typed
  size_t smaller = 400;   // further draws in search of a smaller counterexample
  uint64_t seed = 7;
  StopToken stop = {}; // asked between instances, and within one
};

struct RuleVerdict {
  enum class Status : uint8_t {
    Tested,   // every instance agreed
    Untested, // those that were found did, but they are not of all kinds: not verified
    Refuted,  // one did not
    Empty,    // no instance was found, or the right side is never well typed: the rule never fires
    Fault,    // the check itself failed (api/verify/rule_trust.h)
    Stopped,  // it was ended before it had an answer
  };
  Status status = Status::Tested;
  size_t cases = 0;        // instances compared
  size_t in_field = 0;     // of these, proved equal over the field; the others in float64 alone
  size_t combinations = 0; // of enumerated attributes that had instances
  size_t kinds = 0, kind_pairs = 0; // of instances that were compared (rules/instances/kinds.h)
  /// Of the numbers that were compared, by tensor (rules/instances/partition.h).
  size_t partitions = 0, partition_pairs = 0;
  /// log2 of the chance that one instance was wrongly taken for equal; the largest of all.
  double log2_error = 0;
  /// What float64 showed of the rounding: the least class that fits.
  Numerics observed = Numerics::Exact;
  /// The class that the rule has, by its operators and by what was observed.
  Numerics numerics = Numerics::Exact;
  /// What a proof for all sizes came to (proof.h), if one was asked for.
  enum class Proof : uint8_t { NotTried, Proved, NotProved };
  Proof proof = Proof::NotTried;
  std::string unproved;       // NotProved: what stood against it
  std::string why;            // all but Tested: for a person
  std::string counterexample; // Refuted: a .tg file with the models `left` and `right`
};

/// "tested", "untested", "refuted", "empty", "fault", "stopped".
llvm::StringRef status_name(RuleVerdict::Status status);

/// Deterministic. Native rules are tested by their own property tests, and passed here.
RuleVerdict verify_rule(const Rule& rule, const RuleCheckOptions& options = {});

/// Shows the instances that verify_rule would compare, and compares none.
using InstanceVisitor = std::function<void(Symbols&, const RuleInstance&)>;
void visit_instances(const Rule& rule, const RuleCheckOptions& options, InstanceVisitor visitor);

/// What a verdict depends on beside the options: the rule's text, its class of numerics, and the
/// operator table.
std::string rule_fingerprint(const Rule& rule);

} // namespace tg
