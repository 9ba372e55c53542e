// Where the nodes of a graph stand and how its edges run, in layers (Sugiyama, Tagawa and Toda
// 1981). Edges that pass layers get a place in each, so that none runs through a node or out of the
// drawing. Everything of the layout lies within [0, width] x [0, height].
#pragma once

#include "compiler/report/pages/graph_picture.h"

namespace tg::pages {

struct Box {
  double width = 0, height = 0;
};

struct Place {
  double x = 0, y = 0; // of the left upper corner
};

/// From the lower side of a node to the upper side of its user, in pieces that go down: each runs
/// from `x0, y0` to `x1, y1`.
struct Route {
  uint32_t from = 0, to = 0;
  struct Piece {
    double x0, y0, x1, y1;
  };
  std::vector<Piece> pieces;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<Place> places; // of the nodes
  std::vector<Route> routes;
};

Layout lay_out(const Picture& picture, llvm::ArrayRef<Box> boxes);

} // namespace tg::pages
