// Operators of the tuner, as loop nests. A nest describes the loops of the operator's naive
// program, the elements of each input that a point of the loops reads,
// and the reduction loop along which a kernel fetches its inputs in rounds.
// All cost models follow from this one description.
// Source: Fang et al., "ETO: Accelerating Optimization of DNN Operators by High-Performance Tensor
// Program Reuse", PVLDB 15(2), 2022, and its authors' code.
//
// Invariants: padded and dilated inputs count as if they were materialized,
// so extents follow from the loops. The index of a dimension is a sum of one term per loop,
// so addresses are sums, too.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tg::tune {

class Scanner;

using Extents = std::vector<int64_t>;

/// Convolutions in one, two and three dimensions; batched matrix products;
/// grouped, depthwise and transposed convolutions; capsule convolutions;
/// convolutions by Winograd's minimal filtering; the Frobenius norm.
enum class OpType : uint8_t { C1D, C2D, C3D, BMM, GRP, DEP, T2D, CAP, WIN, FRB };
inline constexpr size_t kOpTypes = 10;

llvm::StringRef type_name(OpType type);

/// The loops of the major nest and the other parameters of the operator.
/// An empty list means the default.
struct Operator {
  OpType type = OpType::C2D;
  Extents space = {}, reduction = {};
  Extents stride = {}, padding = {},
          dilation = {};   // one per spatial loop; CAP: one stride for both
  Extents groups = {};     // GRP, T2D: number of channel groups, which divides f
  Extents multiplier = {}; // DEP: filters per channel, which divides f
  Extents shared = {};     // BMM: 1 for x and for y if the whole batch shares it
  Extents output = {};     // WIN: n, h, w of the result, and rows of a tile of it

  bool operator==(const Operator&) const = default;
};

/// Checks that the lists have the lengths that the type requires and that their numbers are valid.
/// Errors: `bad_data_file`.
Result<void> check(const Operator& op);

/// Formats "C2D [1, 64, 28, 28 | 64, 3, 3] stride 2, 2". Defaults are omitted.
std::string text(const Operator& op);
/// Reads an operator as text() formats it; more text may follow. Errors: `bad_data_file`.
Result<Operator> scan_operator(Scanner& scan);

/// Returns the number of points of all loops as a real number, for ratios.
double volume(llvm::ArrayRef<int64_t> extents);
int64_t product(llvm::ArrayRef<int64_t> extents);

/// `floor(loop / divisor) * scale`, of the loop at `axis`, counted over the space loops
/// and then the reduction loops.
struct Term {
  size_t axis = 0;
  int64_t scale = 1, divisor = 1;
};

/// One dimension of an input: the sum of its terms; 0 if it has none.
struct Dimension {
  std::vector<Term> terms;
};

struct Input {
  const char* name = "";
  std::vector<Dimension> dimensions = {}; // outermost first
};

/// The loop nest that a kernel with several tile levels computes.
struct Nest {
  Extents space, reduction;
  std::vector<Input> inputs;       // data before the kernel
  std::optional<size_t> load_axis; // index into `reduction`: a fetch is one round along it
  Extents block_step;              // a block's extent of a space loop is a multiple of this

  size_t axes() const { return space.size() + reduction.size(); }
  /// The space loops followed by the reduction loops.
  Extents loops() const;
};

Nest nest_of(const Operator& op);

/// Returns the number of elements of one dimension between the first and the last
/// that `covered` points of every loop read, including gaps.
int64_t box_extent(const Dimension& dimension, llvm::ArrayRef<int64_t> covered);
Extents box_of(const Input& input, llvm::ArrayRef<int64_t> covered);

/// A flat loop of `length` points beside the major nest. It has no tiles, only its own threads.
struct FlatStage {
  const char* name;
  int64_t length;
};
/// WIN: data_pack, inverse, output. FRB: squares (its major nest), root.
std::vector<FlatStage> flat_stages(const Operator& op);

/// Returns the loops by which operators are compared: for GRP, DEP and T2D, f is split by group.
Extents comparable_loops(const Operator& op);

} // namespace tg::tune
