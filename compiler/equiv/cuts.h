// A deep pair as a row of shallow ones. Where all that a model makes of an input passes through one
// tensor, as between the blocks of a network, and the other model has an equal one, both may be
// compared up to there, and from there on with one unknown in the place of both: what holds of
// every tensor there holds of this one. So degrees grow with the depth of a block, not with that of
// the network, which for products of products is their exponent.
#pragma once

#include "compiler/equiv/equivalent.h"

namespace tg {

/// The pairs to compare: each cut of `a` with that of `b`, then the outputs. If all are equal, so
/// are the models; if one is not, nothing is said. Which tensors are equal is guessed by their
/// values at one point. nullopt if there is nothing to cut at, or the check was stopped.
std::optional<Joined> cut_at_necks(const Joined& joined, const EquivalenceOptions& options);

} // namespace tg
