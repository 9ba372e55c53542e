// Winograd's minimal filtering for 3 x 3 convolutions of stride 1 (Lavin and Gray 2016, "Fast
// algorithms for convolutional neural networks", section 4), images channels last. The result is
// cut into tiles of 2 x 2 or 4 x 4 pixels; each position of a transformed tile (4 x 4 or 6 x 6) is
// a product of its own, tiles x inputs times inputs x outputs:
//
//   V[position][tile][input] = B^T d B;  M[position] = V[position] * U[position];  Y = A^T M A.
//
// Tiles are taken in blocks, so that V and M of a block stay in the second-level cache: an image is
// read once, a result written once, and nothing is reordered. What the three primitives below have
// in common is that channels go in sixteens (kPanel); one source (winograd_impl.inc) is built for
// AVX-512, AVX2 and the base instruction set.
#pragma once

#include "runtime/cpu/isa_tables.h"
#include "runtime/thread_pool.h"

#include "lang/core/op.h"

#include <cstdint>
#include <vector>

namespace tg::cpu {

/// Channels that lie side by side in V, M and packed weights; rows of them are padded to it.
inline constexpr int64_t kPanel = 16;
/// The widest block of output channels that a product makes, in panels.
inline constexpr int64_t kMaxPanels = 4;
/// The most rows of a product that any table has.
inline constexpr int64_t kMaxWinogradRows = 12;
/// More channels than there are.
inline constexpr int64_t kAllChannels = int64_t{1} << 40;
/// V and M of a thread.
inline constexpr int64_t kMostCutBytes = 16 << 20;
/// Positions of the largest transformed tile.
inline constexpr int64_t kMaxPositions = 36;

/// Pixels of an image or of a tile: the first channel of the first, and elements from row to row
/// and from pixel to pixel.
template <class Float> struct Pixels {
  Float* at = nullptr;
  int64_t row = 0, pixel = 0;
};

/// Rows and columns of a tile that exist: of V's pixels, those that are no padding; of a result's,
/// those that are wanted.
struct Box {
  int64_t top = 0, left = 0, bottom = 0, right = 0; // half open
  bool operator==(const Box&) const = default;
};

/// What happens on the way out of a tile. `bias` and `residual.at` may be null.
struct WinogradTail {
  const float* bias = nullptr;
  Pixels<const float> residual;
  bool relu = false;
};

struct WinogradTable {
  const char* isa; // "avx512", "avx2", "base"
  /// V of one tile: `channels` (a multiple of kPanel) of the (tile + 2)^2 pixels of `x`, zero
  /// outside `box`, where nothing is read; one position lies `position` elements behind the other.
  void (*input)(int64_t tile, float* v, int64_t position, Pixels<const float> x, const Box& box,
                int64_t channels);
  /// m[rows][panels * 16] = v[rows][inputs] * u[inputs][panels * 16]; panels <= kMaxPanels. So many
  /// rows at once at most, or as many as registers hold.
  void (*product)(float* m, int64_t m_row, const float* v, int64_t v_row, const float* u,
                  int64_t rows, int64_t inputs, int64_t panels, int64_t rows_at_once);
  /// Of the tile^2 pixels of a result those in `box`, `channels` (a multiple of kPanel) of each.
  void (*output)(int64_t tile, Pixels<float> y, const Box& box, const float* m, int64_t position,
                 const WinogradTail& tail, int64_t channels);
  /// Rows of a product that registers hold.
  int64_t (*most_rows)(int64_t panels);
};

/// The best table that this processor can run, and DNNL_MAX_CPU_ISA allows.
const WinogradTable& winograd_table();
/// Those that it can run, best first; for tests.
IsaTables<WinogradTable> winograd_tables();

extern const WinogradTable kWinogradAvx512, kWinogradAvx2, kWinogradBase;

/// Where the pixels of a batch of images lie; channels have stride 1.
struct ImageSteps {
  int64_t image = 0, row = 0, pixel = 0;
};

/// One convolution, in elements and pixels.
struct WinogradShape {
  int64_t tile = 4; // 2 or 4
  int64_t images = 1, height = 0, width = 0, out_height = 0, out_width = 0;
  int64_t groups = 1, inputs = 0, outputs = 0; // channels of one group
  int64_t above = 0, left = 0;                 // padding
  ImageSteps x, y, residual;

  int64_t positions() const { return (tile + 2) * (tile + 2); }
  int64_t tile_rows() const { return (out_height + tile - 1) / tile; }
  int64_t tile_columns() const { return (out_width + tile - 1) / tile; }
  int64_t tiles() const { return images * tile_rows() * tile_columns(); }
};

/// Addresses of one run. `bias` and `residual` may be null; `residual` may be `y`. `scratch` is
/// aligned to 64 bytes.
struct WinogradData {
  const float *x = nullptr, *weights = nullptr, *bias = nullptr, *residual = nullptr;
  float *y = nullptr, *scratch = nullptr;
  Act act = Act::None;
};

/// What may be chosen of how the work is cut. No bit of a result depends on it.
struct WinogradCut {
  int64_t cuts = 1;         // of the tiles, which threads take one after the other
  bool by_channels = false; // threads share V and part the output channels; then there is one cut
  int64_t panels = kMaxPanels;     // of output channels that a product makes, at most
  int64_t rows = kMaxWinogradRows; // of V that a product has at once, at most
  /// Channels of one tile that are transformed before the next tile's: multiples of kPanel, on the
  /// way in and out.
  int64_t packed = kAllChannels, written = kAllChannels;
  bool operator==(const WinogradCut&) const = default;
};

/// What is taken where nothing was tuned.
WinogradCut default_cut(const WinogradShape& shape, int threads);
/// Whether there are so many tiles and channels, and a thread's V and M stay below kMostCutBytes.
bool suits(const WinogradShape& shape, int threads, const WinogradCut& cut);

/// How the work is cut: blocks of tiles and of output channels.
class WinogradSchedule {
public:
  WinogradSchedule(const WinogradShape& shape, const Threads& threads)
      : WinogradSchedule(shape, threads, default_cut(shape, threads)) {}
  /// Requires that the cut suits.
  WinogradSchedule(const WinogradShape& shape, const Threads& threads, const WinogradCut& cut);

  const WinogradShape& shape() const { return shape_; }
  const WinogradCut& cut() const { return cut_; }
  int threads() const { return threads_; }
  /// Of the packed weights, and of what run() needs beside its operands.
  int64_t weight_elements() const;
  int64_t scratch_elements() const;
  /// u[position][output][input], outputs of all groups, to blocks of output channels:
  /// [block][position][input][channel of the block], zero beyond a group's outputs.
  void pack(float* packed, const float* u) const;
  void run(const WinogradTable& table, const WinogradData& data) const;

private:
  /// Output channels that one product makes, of each group alike.
  struct Block {
    int64_t first, count, panels;
    int64_t weights; // where its weights start in those of the group
  };
  struct Tile {
    int64_t x, y, residual; // offsets of its first pixel; that of x may lie before the image
    Box read, write;
  };

  void find_tiles();
  int64_t position_of_v() const;
  int64_t position_of_m() const;
  void read_tiles(const WinogradTable& table, const WinogradData& data, int64_t group,
                  int64_t begin, int64_t end, float* v) const;
  /// Channels from `first` on, `count` of those of V.
  void read_tile(const WinogradTable& table, const float* x, const Tile& tile, float* v,
                 int64_t first, int64_t count) const;
  void make_block(const WinogradTable& table, const WinogradData& data, int64_t group,
                  const Block& block, int64_t begin, int64_t end, const float* v, float* m) const;
  void write_tile(const WinogradTable& table, const WinogradData& data, int64_t channel,
                  int64_t count, const Tile& tile, const float* m) const;
  /// The last channels of a tile, `count` from `first` on, which fill no panel.
  void write_rest(const WinogradTable& table, Pixels<float> y, const Box& box, const float* m,
                  const WinogradTail& tail, int64_t first, int64_t count) const;

  WinogradShape shape_;
  Threads threads_;
  int64_t padded_inputs_;     // of a group
  int64_t group_weights_;     // elements
  int64_t tiles_at_once_;     // in V and M
  WinogradCut cut_;           // groups are parted as tiles are
  std::vector<Block> blocks_; // of a group
  std::vector<Tile> tiles_;
};

} // namespace tg::cpu
