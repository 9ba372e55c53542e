// Operators that the tuner knows, as loop nests: which loops the naive program of an operator has,
// which elements of which input a point of them reads, and along which reduction loop a kernel
// fetches its inputs in rounds. Everything that a cost counts follows from this one description.
// Source: Fang et al., "ETO: Accelerating Optimization of DNN Operators by High-Performance Tensor
// Program Reuse", PVLDB 15(2), 2022, and its authors' code.
//
// Invariant: padded and dilated inputs count as if they were materialised, so extents follow from
// the loops; the index of a dimension is a sum of one term a loop, so addresses are sums, too.
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

/// Convolutions in one, two and three dimensions; products of batches; grouped, depthwise and
/// transposed convolutions; convolutions of capsules; by Winograd's minimal filtering; the
/// Frobenius norm.
enum class OpType : uint8_t { C1D, C2D, C3D, BMM, GRP, DEP, T2D, CAP, WIN, FRB };
inline constexpr size_t kOpTypes = 10;

llvm::StringRef type_name(OpType type);
/// Names of its loops: {"n", "f", "y", "x"} and {"rc", "ry", "rx"}.
llvm::ArrayRef<const char*> space_loops(OpType type);
llvm::ArrayRef<const char*> reduction_loops(OpType type);

/// Loops of the major nest and what else the operator is about. An empty list is its default.
struct Operator {
  OpType type = OpType::C2D;
  Extents space = {}, reduction = {};
  Extents stride = {}, padding = {},
          dilation = {};   // one for each spatial loop; CAP: one stride for both
  Extents groups = {};     // GRP, T2D: into how many groups channels fall, which divides f
  Extents multiplier = {}; // DEP: filters of a channel, which divides f
  Extents shared = {};     // BMM: 1 for each of x and y that all of the batch share
  Extents output = {};     // WIN: n, h, w of the result and rows of a tile of it

  bool operator==(const Operator&) const = default;
};

/// Whether the lists have the lengths that the type asks for, and numbers that make sense. Errors:
/// `bad_data_file`.
Result<void> check(const Operator& op);

/// "C2D [1, 64, 28, 28 | 64, 3, 3] stride 2, 2". What is the default is not written.
std::string text(const Operator& op);
/// Errors: `bad_data_file`.
Result<Operator> read_operator(llvm::StringRef text);
/// The same where more may follow.
Result<Operator> scan_operator(Scanner& scan);

/// Points of all loops, as a real number: ratios are what is asked.
double volume(llvm::ArrayRef<int64_t> extents);
int64_t product(llvm::ArrayRef<int64_t> extents);

/// `floor(loop / divisor) * scale`, of the loop at `axis`, counted over space and then reduction.
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
  std::vector<Dimension> dimensions = {}; // the outermost first
};

/// What a kernel of several tile levels computes.
struct Nest {
  Extents space, reduction;
  std::vector<Input> inputs;       // data before the kernel
  std::optional<size_t> load_axis; // of `reduction`: fetches are rounds along it
  Extents block_step;              // a block's extent of a space loop is a multiple of this

  size_t axes() const { return space.size() + reduction.size(); }
  /// Space and reduction loops side by side.
  Extents loops() const;
};

Nest nest_of(const Operator& op);

/// Elements of one dimension between the first and the last that `covered` points of every loop
/// read: gaps count.
int64_t box_extent(const Dimension& dimension, llvm::ArrayRef<int64_t> covered);
Extents box_of(const Input& input, llvm::ArrayRef<int64_t> covered);

/// A flat loop beside the major nest that has no tiles but threads of its own: `length` points.
struct FlatStage {
  const char* name;
  int64_t length;
};
/// WIN: data_pack, inverse, output. FRB: squares (its major nest), root.
std::vector<FlatStage> flat_stages(const Operator& op);

/// Loops by which operators are compared: those of GRP, DEP and T2D with f parted into groups.
Extents comparable_loops(const Operator& op);

} // namespace tg::tune
