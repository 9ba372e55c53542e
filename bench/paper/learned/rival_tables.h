// Tables of the policies `gains` and `motifs` (search/game/rivals.h): made from searches, and
// written as files (compiler/api/policy_file.h).
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/search/game/rivals.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::paper {

/// Adds the steps of an explanation and its relative gain to the table.
void mine_motifs(const Derivation& explanation, llvm::ArrayRef<Rule> rules, double gain,
                 MotifTable& table);

/// Writes `{"agent": "gains", "rules": {...}}`, with the rules as in a file of priors.
void write_gains(llvm::raw_ostream& out, const PriorTable& table);
/// Writes `{"agent": "motifs", "rules": {"r": 0.1}, "pairs": [["r", "s", 0.05]]}`.
void write_motifs(llvm::raw_ostream& out, const MotifTable& table);

} // namespace tg::paper
