// Whether a rule holds for all sizes: both sides become sums over index spaces with symbolic sizes
// (case.h, sums.h), case by case of what the rule leaves open (ranks, absent operands,
// padding, which sizes are 1, which piece of a concat an index falls into), and are compared.
//
// The fragment: element-by-element operators, matmul, conv2d, average pooling, transpose, reshape
// by factors, concat, split, slice, padding, enlarge, sums and means, batch_norm and softmax by
// their definitions, over the reals; other functions of one element are arbitrary functions. A rule
// is proved only if every case is; what is not proved may be true.
#pragma once

#include "compiler/rules/rule.h"

#include <string>

namespace tg {

/// Whether this program can prove: it was built with Z3.
bool can_prove();

struct ProofOptions {
  size_t cases = 2000;     // more are not looked at
  size_t questions = 4000; // to the solver, for one case
  size_t total = 10000;    // for all of them
};

struct Proof {
  bool proved = false;
  size_t cases = 0; // that are possible, all equal if proved
  std::string why;  // not proved: what stood against it
};

/// Deterministic: limits are counts, not times. Native rules are not proved.
Proof prove_rule(const Rule& rule, const ProofOptions& options = {});

} // namespace tg
