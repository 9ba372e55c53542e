// The prover: shows that a rule holds for all sizes, ranks and attributes for which the engine
// would apply it. Both sides of the rule become sums of products over index spaces with symbolic
// sizes (sums.h), are brought into a normal form, and are compared at a symbolic index. Z3 answers
// the questions about integers. Properties that the rule leaves open are split into cases (case.h):
// ranks, absent operands, padding, which sizes are 1, which piece of a concat an index is in.
//
// Example:
//
//   Rule rule = *rule_from_text("rule r(x, y, v, w) {"
//                               "  concat([x, y], axis = 1) @ concat([v, w], axis = 0) =>"
//                               "    x @ v + y @ w"
//                               "  where rank(x) == 2, dim(x, 1) == dim(v, 0) }");
//   prove_rule(rule).proved; // == true
//   Rule other = *rule_from_text("rule r(x, y) { x - y => y - x }");
//   prove_rule(other).proved; // == false
//
// Let x have p columns and y have q. With [..] for 1 if a guard holds and 0 otherwise, the elements
// at index (i, j) are
//
//   left   sum over 0 <= k < p + q of ([k < p] x[i, k] + [k >= p] y[i, k - p])
//                                   * ([k < p] v[k, j] + [k >= p] w[k - p, j])
//   right  sum over 0 <= k < p of x[i, k] v[k, j]  +  sum over 0 <= l < q of y[i, l] w[l, j]
//
// The left product is multiplied out. Two of its four terms have contradictory guards and vanish,
// the others match those of the right side, one of them with k = l + p. So the rule is proved.
//
// Invariants:
//   - Sound: a rule is proved only if every possible case is. A case may be left out only if the
//     engine would not apply the rule there. Anything that is not understood ends the proof as not
//     proved.
//   - Not complete: a rule that is not proved may be true.
//   - The proof is over the reals. Functions of one element, such as exp, are uninterpreted.
//
// The fragment: element-by-element operators, matmul, conv2d, average pooling, transpose, reshape
// by factors, concat, split, slice, padding, enlarge, sums and means, and batch_norm and softmax by
// their definitions.
//
// Sources: the solver is Z3 (de Moura and Bjorner, TACAS 2008). For related work on proofs of
// tensor rewrites for all ranks see TensorRight (Arora et al., POPL 2025).
#pragma once

#include "compiler/rules/rule.h"

#include <string>

namespace tg {

/// Returns true if this program was built with Z3.
bool can_prove();

struct ProofOptions {
  size_t cases = 2000;     // limit; further cases end the proof
  size_t questions = 4000; // limit of solver queries for one case
  size_t total = 10000;    // limit of solver queries for all cases
};

struct Proof {
  bool proved = false;
  size_t cases = 0; // possible cases, all equal if proved
  std::string why;  // if not proved: the reason
};

/// Tries to prove a rule. Deterministic, since limits are counts, not times. Native rules
/// are not proved.
Proof prove_rule(const Rule& rule, const ProofOptions& options = {});

} // namespace tg
