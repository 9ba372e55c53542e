// From paths between terms to steps of whole graphs. The graph starts as the source and is made the
// result, output by output and from the outputs down: to make a term at a place into a wanted one,
// the next equation on the path between them is applied there, and when no equation is left, only
// operands differ and are made equal one by one. To apply an equation its rule has to match there:
// operands that the rule looks into are made what it wants, those that its variables stand for stay
// as they are.
//
// That rewrites each shared node once and nothing that need not be, but it can run in circles, as
// the operands that stay are not those that the closure knows the path from. So there are several
// manners, tried in this order; the last follows the proof to the letter, which always ends
// (Nieuwenhuis and Oliveras 2005, section 5), but may repeat for each user what is shared.
#pragma once

#include "compiler/egraph/explain_ledger.h"

namespace tg {

enum class ChainManner : uint8_t {
  Jointly,     // everywhere, all left sides of a rule in one step
  Everywhere,  // everywhere, one left side a step
  AlongForest, // the same, along the forest instead of the shortest way
  InPlace,     // at one place, variables free
  ToTheLetter  // at one place, all terms as recorded
};

/// The steps that lead from one list of outputs to another; nothing where this manner finds none
/// within its limits.
std::optional<std::vector<DerivationStep>> find_chain(ExplainLedger& ledger,
                                                      llvm::ArrayRef<NodeId> from,
                                                      llvm::ArrayRef<NodeId> to,
                                                      ChainManner manner);

} // namespace tg
