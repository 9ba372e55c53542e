// Where a value lies: a buffer, an offset and one stride for each axis, in elements of its dtype.
// Views (slices, transposes, most reshapes, broadcasts) are places on somebody else's buffer;
// nothing is copied for them. A place says nothing about names such as nchw: code asks whether it
// is dense in the order that it needs.
//
// Invariant: axes of size 1 have any stride, and no question below looks at it; every stride is
// >= 0.
#pragma once

#include "lang/core/type.h"

#include <dnnl.h>

#include <optional>

namespace tg::cpu {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = UINT32_MAX;

struct Place {
  BufferId buffer = kNoBuffer;
  int64_t offset = 0; // elements from the start of the buffer
  Shape shape, strides;
  DType dtype = DType::F32;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const;
  /// Elements from the first to one behind the last that the place touches.
  int64_t span() const;
  bool operator==(const Place&) const = default;
};

/// Strides of a dense tensor whose axes are laid out in this order, outermost first.
Shape dense_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);
/// Channels last: of images [N, C, H, W] in the order N H W C, of volumes N D H W C.
Shape nhwc_strides(llvm::ArrayRef<int64_t> shape);

/// Whether both address the same elements; axes of size 1 are not looked at.
bool same_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> a,
                  llvm::ArrayRef<int64_t> b);
/// Row-major without gaps.
bool is_plain(const Place& p);
/// Rank 4, channels last, without gaps.
bool is_nhwc(const Place& p);
/// Its elements fill a range of the buffer without gaps or repeats, in some order.
bool is_dense(const Place& p);
/// Returns true if elements are read more than once, as in a broadcast, or if one axis steps within
/// another, as in windows, which oneDNN does not take.
bool interleaves(const Place& p);

Place slice(const Place& p, int64_t axis, int64_t start, int64_t stop);
Place transpose(const Place& p, llvm::ArrayRef<int64_t> perm);
/// nullopt where no strides express the new shape (elements in row-major order of the old one).
std::optional<Place> reshape(const Place& p, llvm::ArrayRef<int64_t> shape);
/// NumPy broadcasting to a shape of at least the same rank: stride 0 along new and repeated axes.
Place broadcast(const Place& p, llvm::ArrayRef<int64_t> shape);

/// One loop of a nest over several places of one shape.
struct Loop {
  int64_t extent = 1;
  llvm::SmallVector<int64_t, 4> strides; // one per place
};
/// The fewest loops that visit every element, outermost first, ordered by the strides of the first
/// place; axes of size 1 are gone, and axes that all places step over evenly are one loop. Never
/// empty.
llvm::SmallVector<Loop, 4> loops(llvm::ArrayRef<const Place*> places);

/// oneDNN's name of a dtype; undefined for i64, which it does not have. A bool is a u8.
dnnl_data_type_t dnnl_dtype(DType dtype);
/// For oneDNN. Rank 0 becomes [1].
dnnl_memory_desc_t memory_desc(const Place& p);
dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                               DType dtype = DType::F32);
dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, dnnl_format_tag_t tag,
                               DType dtype = DType::F32);

} // namespace tg::cpu
