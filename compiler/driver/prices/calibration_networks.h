// Small networks that `tg calibrate` runs whole, so that guesses know what operators take where
// they run: behind each other, on what the one before has just written, in the library's own
// layouts. Each is a block of a kind that networks are made of, as networks are written or as
// searches leave it, with sizes that are drawn. The list is always the same; none of the blocks is
// one of `examples/`.
#pragma once

#include "compiler/driver/files/model.h"

namespace tg {

/// A model of the networks' text, and its parameters. Any beginning of the list has all kinds.
std::vector<ModelRequest> calibration_networks();

/// One of them. Requires that it is of the list.
Graph calibration_graph(const ModelRequest& network);

} // namespace tg
