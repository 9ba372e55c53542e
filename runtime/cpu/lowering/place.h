// The place of a value: a buffer, an offset and one stride per axis, in elements of its dtype.
// Views (slices, transposes, most reshapes, broadcasts) are places in another value's buffer;
// nothing is copied for them. A place has no layout names such as nchw: code checks whether it
// is dense in the required order.
//
// Invariant: axes of size 1 may have any stride, and all functions below ignore it;
// every stride is >= 0.
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
  /// The number of elements from the first to one past the last that the place touches.
  int64_t span() const;
  bool operator==(const Place&) const = default;
};

/// Returns the strides of a dense tensor with this order of axes, outermost first.
Shape dense_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);
/// Channels last: images [N, C, H, W] in the order N H W C, volumes in N D H W C.
Shape nhwc_strides(llvm::ArrayRef<int64_t> shape);

/// Returns true if both address the same elements; axes of size 1 are ignored.
bool same_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> a,
                  llvm::ArrayRef<int64_t> b);
/// Returns true for row-major without gaps.
bool is_plain(const Place& p);
/// Returns true for rank 4, channels last, without gaps.
bool is_nhwc(const Place& p);
/// Returns true if the elements fill a range of the buffer without gaps or repeats, in some order.
bool is_dense(const Place& p);
/// Returns true if elements are read more than once, as in a broadcast, or if one axis steps within
/// another, as in windows, which oneDNN does not take.
bool interleaves(const Place& p);

Place slice(const Place& p, int64_t axis, int64_t start, int64_t stop);
Place transpose(const Place& p, llvm::ArrayRef<int64_t> perm);
/// Returns nullopt if no strides express the new shape (elements in row-major order
/// of the old one).
std::optional<Place> reshape(const Place& p, llvm::ArrayRef<int64_t> shape);
/// Applies NumPy broadcasting to a shape of at least the same rank: stride 0 along new
/// and repeated axes.
Place broadcast(const Place& p, llvm::ArrayRef<int64_t> shape);

/// One loop of a nest over several places of one shape.
struct Loop {
  int64_t extent = 1;
  llvm::SmallVector<int64_t, 4> strides; // one per place
};
/// Returns the fewest loops that visit every element, outermost first, ordered by the strides
/// of the first place. Axes of size 1 are removed, and axes with uniform strides in all places
/// are merged. Never empty.
llvm::SmallVector<Loop, 4> loops(llvm::ArrayRef<const Place*> places);

/// Returns oneDNN's dtype; undefined for i64, which oneDNN does not have. A bool is a u8.
dnnl_data_type_t dnnl_dtype(DType dtype);
/// Returns oneDNN's descriptor. Rank 0 becomes [1].
dnnl_memory_desc_t memory_desc(const Place& p);
dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                               DType dtype = DType::F32);
dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, dnnl_format_tag_t tag,
                               DType dtype = DType::F32);

} // namespace tg::cpu
