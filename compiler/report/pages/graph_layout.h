// Positions of a graph's nodes and routes of its edges, in layers (Sugiyama, Tagawa and Toda 1981).
// Edges that cross layers get a position in each, so they pass through no node and stay inside the
// drawing. The whole layout is within [0, width] x [0, height].
#pragma once

#include "compiler/report/pages/graph_picture.h"

namespace tg::pages {

struct Box {
  double width = 0, height = 0;
};

struct Place {
  double x = 0, y = 0; // of the top left corner
};

/// From the bottom of a node to the top of its user, in pieces that go down, each from `x0, y0` to
/// `x1, y1`.
struct Route {
  uint32_t from = 0, to = 0;
  struct Piece {
    double x0, y0, x1, y1;
  };
  std::vector<Piece> pieces;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<Place> places; // by node
  std::vector<Route> routes;
};

Layout compute_layout(const Picture& picture, llvm::ArrayRef<Box> boxes);

} // namespace tg::pages
