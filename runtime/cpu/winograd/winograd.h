// Winograd's minimal filtering for 3 x 3 convolutions of stride 1 (Lavin and Gray 2016,
// "Fast algorithms for convolutional neural networks", section 4), with images channels last.
// The result is divided into tiles of 2 x 2 or 4 x 4 pixels. Each position
// of a transformed tile (4 x 4 or 6 x 6) is a separate product,
// tiles x inputs times inputs x outputs:
//
//   V[position][tile][input] = B^T d B;  M[position] = V[position] * U[position];  Y = A^T M A.
//
// Tiles are processed in blocks, so that V and M of a block stay in the second-level cache:
// an image is read once, a result is written once, and nothing is reordered.
// All three primitives below process channels in groups of sixteen (kPanel).
// One source (winograd_impl.inc) is built for AVX-512, AVX2 and the base instruction set.
#pragma once

#include "runtime/cpu/isa_tables.h"
#include "runtime/thread_pool.h"

#include "lang/core/op.h"

#include <cstdint>
#include <vector>

namespace tg::cpu {

/// The number of adjacent channels in V, M and packed weights; their rows are padded to it.
inline constexpr int64_t kPanel = 16;
/// The widest block of output channels of a product, in panels.
inline constexpr int64_t kMaxPanels = 4;
/// The largest number of rows of a product in any table.
inline constexpr int64_t kMaxWinogradRows = 12;
/// More than any number of channels.
inline constexpr int64_t kAllChannels = int64_t{1} << 40;
/// The limit of V and M of a thread, in bytes.
inline constexpr int64_t kMostCutBytes = 16 << 20;
/// The number of positions of the largest transformed tile.
inline constexpr int64_t kMaxPositions = 36;

/// The pixels of an image or of a tile: the address of the first channel of the first pixel,
/// and the elements between rows and between pixels.
template <class Float> struct Pixels {
  Float* at = nullptr;
  int64_t row = 0, pixel = 0;
};

/// The existing rows and columns of a tile: for V, the pixels that are not padding;
/// for a result, those that are needed.
struct Box {
  int64_t top = 0, left = 0, bottom = 0, right = 0; // half-open
  bool operator==(const Box&) const = default;
};

/// The operations applied when a tile is written. `bias` and `residual.at` may be null.
struct WinogradTail {
  const float* bias = nullptr;
  Pixels<const float> residual;
  bool relu = false;
};

struct WinogradTable {
  const char* isa; // "avx512", "avx2", "base"
  /// Computes V of one tile: `channels` (a multiple of kPanel) of the (tile + 2)^2 pixels of `x`,
  /// zero outside `box`, where nothing is read. Positions are `position` elements apart.
  void (*input)(int64_t tile, float* v, int64_t position, Pixels<const float> x, const Box& box,
                int64_t channels);
  /// Computes m[rows][panels * 16] = v[rows][inputs] * u[inputs][panels * 16];
  /// panels <= kMaxPanels. Processes at most `rows_at_once` rows at a time,
  /// and at most as many as registers hold.
  void (*product)(float* m, int64_t m_row, const float* v, int64_t v_row, const float* u,
                  int64_t rows, int64_t inputs, int64_t panels, int64_t rows_at_once);
  /// Writes those of the tile^2 pixels of a result that are in `box`,
  /// `channels` (a multiple of kPanel) of each.
  void (*output)(int64_t tile, Pixels<float> y, const Box& box, const float* m, int64_t position,
                 const WinogradTail& tail, int64_t channels);
  /// Returns the number of rows of a product that registers hold.
  int64_t (*most_rows)(int64_t panels);
};

/// Returns the best table that this processor can run and DNNL_MAX_CPU_ISA allows.
const WinogradTable& winograd_table();
/// Returns all tables that the processor can run, best first; for tests.
IsaTables<WinogradTable> winograd_tables();

extern const WinogradTable kWinogradAvx512, kWinogradAvx2, kWinogradBase;

/// The strides of the pixels of a batch of images; channels have stride 1.
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

/// The addresses of one run. `bias` and `residual` may be null; `residual` may be `y`.
/// `scratch` is aligned to 64 bytes.
struct WinogradData {
  const float *x = nullptr, *weights = nullptr, *bias = nullptr, *residual = nullptr;
  float *y = nullptr, *scratch = nullptr;
  Act act = Act::None;
};

/// The tunable division of the work. The bits of the result do not depend on it.
struct WinogradCut {
  int64_t cuts = 1;            // of the tiles, which threads take one after the other
  bool by_channels = false;    // threads share V and divide the output channels; requires one cut
  int64_t panels = kMaxPanels; // of output channels of a product, at most
  int64_t rows = kMaxWinogradRows; // of V in a product at a time, at most
  /// The channels of one tile that are transformed before the next tile:
  /// multiples of kPanel, for input and output.
  int64_t packed = kAllChannels, written = kAllChannels;
  bool operator==(const WinogradCut&) const = default;
};

/// Returns the cut that is used without tuning.
WinogradCut default_cut(const WinogradShape& shape, int threads);
/// Returns true if there are enough tiles and channels for the cut,
/// and a thread's V and M stay below kMostCutBytes.
bool suits(const WinogradShape& shape, int threads, const WinogradCut& cut);

/// The division of the work into blocks of tiles and of output channels.
class WinogradSchedule {
public:
  WinogradSchedule(const WinogradShape& shape, const Threads& threads)
      : WinogradSchedule(shape, threads, default_cut(shape, threads)) {}
  /// Requires a cut that suits.
  WinogradSchedule(const WinogradShape& shape, const Threads& threads, const WinogradCut& cut);

  const WinogradShape& shape() const { return shape_; }
  const WinogradCut& cut() const { return cut_; }
  int threads() const { return threads_; }
  /// The sizes of the packed weights, and of run()'s scratch memory.
  int64_t weight_elements() const;
  int64_t scratch_elements() const;
  /// Packs u[position][output][input], outputs of all groups, into blocks of output channels:
  /// [block][position][input][channel of the block], with zeros beyond a group's outputs.
  void pack(float* packed, const float* u) const;
  void run(const WinogradTable& table, const WinogradData& data) const;

private:
  /// The output channels of one product, the same in each group.
  struct Block {
    int64_t first, count, panels;
    int64_t weights; // offset of its weights in those of the group
  };
  struct Tile {
    int64_t x, y, residual; // offsets of its first pixel; that of x may be before the image
    Box read, write;
  };

  void find_tiles();
  int64_t position_of_v() const;
  int64_t position_of_m() const;
  void read_tiles(const WinogradTable& table, const WinogradData& data, int64_t group,
                  int64_t begin, int64_t end, float* v) const;
  /// Reads `count` channels of V from `first` on.
  void read_tile(const WinogradTable& table, const float* x, const Tile& tile, float* v,
                 int64_t first, int64_t count) const;
  void make_block(const WinogradTable& table, const WinogradData& data, int64_t group,
                  const Block& block, int64_t begin, int64_t end, const float* v, float* m) const;
  void write_tile(const WinogradTable& table, const WinogradData& data, int64_t channel,
                  int64_t count, const Tile& tile, const float* m) const;
  /// Writes the last channels of a tile, `count` from `first` on, which do not fill a panel.
  void write_rest(const WinogradTable& table, Pixels<float> y, const Box& box, const float* m,
                  const WinogradTail& tail, int64_t first, int64_t count) const;

  WinogradShape shape_;
  Threads threads_;
  int64_t padded_inputs_;     // of a group
  int64_t group_weights_;     // elements
  int64_t tiles_at_once_;     // in V and M
  WinogradCut cut_;           // groups are divided like tiles
  std::vector<Block> blocks_; // of a group
  std::vector<Tile> tiles_;
};

} // namespace tg::cpu
