#include "runtime/cpu/tile/convolution_pieces.h"

#include <algorithm>

namespace tg::tile {

ConvolutionPieces::ConvolutionPieces(std::vector<Piece> pieces, std::string text, int threads)
    : pieces_(std::move(pieces)), text_(std::move(text)) {
  for (const Piece& piece : pieces_) blocks_ = std::max<int64_t>(blocks_, piece.made->parts());
  parts_ = static_cast<int>(std::min<int64_t>(threads, blocks_));
}

void ConvolutionPieces::run(int part, const ConvolutionData& data) const {
  for (int64_t block = blocks_ * part / parts_; block < blocks_ * (part + 1) / parts_; ++block)
    for (const Piece& piece : pieces_) {
      ConvolutionData own = data;
      own.x += piece.at.x;
      own.y += piece.at.y;
      own.weights += piece.at.weights;
      if (own.residual) own.residual += piece.at.residual;
      int64_t parts = piece.made->parts(), end = parts * (block + 1) / blocks_;
      for (int64_t i = parts * block / blocks_; i < end; ++i)
        piece.made->run(static_cast<int>(i), own);
    }
}

size_t ConvolutionPieces::code_bytes() const {
  size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.made->code_bytes();
  return bytes;
}

} // namespace tg::tile
