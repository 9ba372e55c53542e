// A convolution composed of others, each of which computes some pixels of its result:
// the phases of a transposed convolution, or the ends and the middle of a long row.
//
// Pieces with the same number of blocks run block by block, one piece after the other,
// so that the x and y that they share are in the caches.
#pragma once

#include "runtime/cpu/tile/convolution.h"

#include <memory>

namespace tg::tile {

/// The start of a piece, in elements.
struct PieceOffsets {
  int64_t x = 0, y = 0, residual = 0;
  int64_t weights = 0; // in the packed weights
};

class ConvolutionPieces final : public Convolution {
public:
  /// `made` has as many parts as blocks, so that blocks can be divided among threads.
  struct Piece {
    std::unique_ptr<Convolution> made;
    PieceOffsets at;
  };
  /// Requires at least one piece.
  ConvolutionPieces(std::vector<Piece> pieces, std::string text, int threads);

  void run(int part, const ConvolutionData& data) const override;
  std::string text() const override { return text_; }
  size_t code_bytes() const override;

private:
  std::vector<Piece> pieces_;
  std::string text_;
  int64_t blocks_ = 1; // of the piece with the most blocks
};

} // namespace tg::tile
