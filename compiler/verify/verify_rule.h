// Verifies a rewrite rule by testing. Instances are drawn from the rule's own types and conditions
// (rules/instances/sample.h). On each, both sides are built and compared over the prime field, and
// in float64 if they differ there (equivalent.h). All combinations of the values of enumerated
// attributes (activations, booleans, kinds of padding) that have instances are included. For the
// class of numerics see rule_class.h.
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/support/stop.h"

#include <functional>
#include <string>

namespace tg {

struct RuleInstance;

/// Replaces the logarithm of 0: both sides are the same graph.
inline constexpr double kSameGraph = -1000;

struct RuleCheckOptions {
  size_t instances = 200; // on which both sides are well typed
  size_t smaller = 400;   // further draws to find a smaller counterexample
  uint64_t seed = 7;
  StopToken stop = {}; // polled between and within instances
};

struct RuleVerdict {
  enum class Status : uint8_t {
    Tested,   // every instance agreed
    Untested, // all instances agreed, but they do not cover all kinds: not verified
    Refuted,  // an instance differed
    Empty,    // no instance was found, or the right side is never well typed: the rule never fires
    Fault,    // the check itself failed (api/verify/rule_trust.h)
    Stopped,  // stopped before an answer
  };
  Status status = Status::Tested;
  size_t cases = 0;        // instances compared
  size_t in_field = 0;     // of these, proved equal over the field; the others only in float64
  size_t combinations = 0; // of enumerated attributes that had instances
  size_t kinds = 0, kind_pairs = 0; // of compared instances (rules/instances/kinds.h)
  /// Coverage of the compared numbers, by tensor (rules/instances/partition.h).
  size_t partitions = 0, partition_pairs = 0;
  /// log2 of the chance that one instance was wrongly found equal; the maximum over all.
  double log2_error = 0;
  /// The strictest class that fits the rounding observed in float64.
  Numerics observed = Numerics::Exact;
  /// The class of the rule, from its operators and from observations.
  Numerics numerics = Numerics::Exact;
  /// The result of a proof for all sizes (proof.h), if one was requested.
  enum class Proof : uint8_t { NotTried, Proved, NotProved };
  Proof proof = Proof::NotTried;
  std::string unproved;       // NotProved: the reason
  std::string why;            // all but Tested: a message
  std::string counterexample; // Refuted: a .tg file with the models `left` and `right`
};

/// Verifies a rule. Deterministic. Native rules are accepted here; they have their own
/// property tests.
RuleVerdict verify_rule(const Rule& rule, const RuleCheckOptions& options = {});

/// Passes the instances that verify_rule would compare to a visitor, without comparing them.
using InstanceVisitor = std::function<void(Symbols&, const RuleInstance&)>;
void visit_instances(const Rule& rule, const RuleCheckOptions& options, InstanceVisitor visitor);

/// Returns a fingerprint of everything besides the options on which a verdict depends: the rule's
/// text, its class of numerics, and the operator table.
std::string rule_fingerprint(const Rule& rule);

} // namespace tg
