// A convolution put together of others, each of which makes some pixels of its result: the phases
// of a transposed one, or the ends and the middle of a long row.
//
// Pieces that are cut into as many blocks run block by block, one after the other, so that what
// they share of x and y is in the caches.
#pragma once

#include "runtime/cpu/tile/convolution.h"

#include <memory>

namespace tg::tile {

/// Where a piece begins, in elements.
struct PieceOffsets {
  int64_t x = 0, y = 0, residual = 0;
  int64_t weights = 0; // among the packed ones
};

class ConvolutionPieces final : public Convolution {
public:
  /// `made` has as many parts as it has blocks, so that blocks can be parted among threads.
  struct Piece {
    std::unique_ptr<Convolution> made;
    PieceOffsets at;
  };
  /// Requires a piece.
  ConvolutionPieces(std::vector<Piece> pieces, std::string text, int threads);

  void run(int part, const ConvolutionData& data) const override;
  std::string text() const override { return text_; }
  size_t code_bytes() const override;

private:
  std::vector<Piece> pieces_;
  std::string text_;
  int64_t blocks_ = 1; // of the piece that has the most
};

} // namespace tg::tile
