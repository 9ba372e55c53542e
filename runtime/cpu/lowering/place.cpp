#include "runtime/cpu/lowering/place.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

namespace tg::cpu {

int64_t Place::elements() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

int64_t Place::span() const {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

Shape dense_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order) {
  Shape strides(shape.size(), 1);
  int64_t step = 1;
  for (int64_t axis : llvm::reverse(order)) {
    strides[static_cast<size_t>(axis)] = step;
    step *= shape[static_cast<size_t>(axis)];
  }
  return strides;
}

Shape nhwc_strides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 5> order = {0};
  for (size_t axis = 2; axis < shape.size(); ++axis) order.push_back(static_cast<int64_t>(axis));
  order.push_back(1);
  return dense_strides(shape, order);
}

bool same_strides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> a,
                  llvm::ArrayRef<int64_t> b) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;
  return true;
}

bool is_plain(const Place& p) {
  return same_strides(p.shape, p.strides, contiguous_strides(p.shape));
}

bool is_nhwc(const Place& p) {
  return p.rank() == 4 && same_strides(p.shape, p.strides, nhwc_strides(p.shape));
}

bool is_dense(const Place& p) {
  auto nest = loops({&p});
  return nest.size() == 1 && (nest[0].extent == 1 || nest[0].strides[0] == 1);
}

bool interleaves(const Place& p) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 8> axes; // stride, extent
  for (size_t i = 0; i < p.shape.size(); ++i)
    if (p.shape[i] > 1) axes.emplace_back(p.strides[i], p.shape[i]);
  llvm::sort(axes);
  int64_t inside = 1; // elements from one step along the next axis to another
  for (auto [stride, extent] : axes) {
    if (stride < inside) return true;
    inside = stride * extent;
  }
  return false;
}

Place slice(const Place& p, int64_t axis, int64_t start, int64_t stop) {
  Place out = p;
  auto i = static_cast<size_t>(axis);
  out.offset += start * p.strides[i];
  out.shape[i] = stop - start;
  return out;
}

Place transpose(const Place& p, llvm::ArrayRef<int64_t> perm) {
  Place out = p;
  for (size_t i = 0; i < perm.size(); ++i) {
    out.shape[i] = p.shape[static_cast<size_t>(perm[i])];
    out.strides[i] = p.strides[static_cast<size_t>(perm[i])];
  }
  return out;
}

// Matches groups of old and new axes with equal products; within a group the old axes
// must have uniform strides.
std::optional<Place> reshape(const Place& p, llvm::ArrayRef<int64_t> shape) {
  Place out{p.buffer, p.offset, Shape(shape.begin(), shape.end()), Shape(shape.size(), 1), p.dtype};
  Shape old_shape, old_strides;
  for (size_t i = 0; i < p.shape.size(); ++i) {
    if (p.shape[i] == 1) continue;
    old_shape.push_back(p.shape[i]);
    old_strides.push_back(p.strides[i]);
  }
  size_t i = 0, j = 0;
  while (i < old_shape.size()) {
    while (j < shape.size() && shape[j] == 1) ++j;
    if (j == shape.size()) return std::nullopt;
    size_t i_end = i + 1, j_end = j + 1;
    int64_t old_size = old_shape[i], new_size = shape[j];
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (i_end == old_shape.size()) return std::nullopt;
        if (old_strides[i_end - 1] != old_strides[i_end] * old_shape[i_end]) return std::nullopt;
        old_size *= old_shape[i_end++];
      } else {
        if (j_end == shape.size()) return std::nullopt;
        new_size *= shape[j_end++];
      }
    }
    int64_t step = old_strides[i_end - 1];
    for (size_t k = j_end; k-- > j;) {
      out.strides[k] = step;
      step *= shape[k];
    }
    i = i_end;
    j = j_end;
  }
  return out;
}

Place broadcast(const Place& p, llvm::ArrayRef<int64_t> shape) {
  Place out{p.buffer, p.offset, Shape(shape.begin(), shape.end()), Shape(shape.size(), 0), p.dtype};
  size_t skip = shape.size() - p.shape.size();
  for (size_t i = 0; i < p.shape.size(); ++i)
    if (p.shape[i] != 1) out.strides[skip + i] = p.strides[i];
  return out;
}

llvm::SmallVector<Loop, 4> loops(llvm::ArrayRef<const Place*> places) {
  const Place& first = *places.front();
  llvm::SmallVector<Loop, 4> axes;
  for (size_t i = 0; i < first.shape.size(); ++i) {
    if (first.shape[i] == 1) continue;
    Loop loop{first.shape[i], {}};
    for (const Place* p : places) loop.strides.push_back(p->strides[i]);
    axes.push_back(std::move(loop));
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Loop& a, const Loop& b) { return a.strides[0] > b.strides[0]; });
  llvm::SmallVector<Loop, 4> nest;
  for (Loop& inner : axes) {
    bool even = !nest.empty();
    for (size_t k = 0; even && k < places.size(); ++k)
      even = nest.back().strides[k] == inner.strides[k] * inner.extent;
    if (!even) {
      nest.push_back(std::move(inner));
      continue;
    }
    nest.back().extent *= inner.extent;
    nest.back().strides = std::move(inner.strides);
  }
  if (nest.empty()) nest.push_back({1, llvm::SmallVector<int64_t, 4>(places.size(), 0)});
  return nest;
}

dnnl_data_type_t dnnl_dtype(DType dtype) {
  switch (dtype) {
  case DType::F32: return dnnl_f32;
  case DType::F16: return dnnl_f16;
  case DType::BF16: return dnnl_bf16;
  case DType::I32: return dnnl_s32;
  case DType::Bool: return dnnl_u8;
  case DType::I64:
  case DType::F64:
  case DType::None: break;
  }
  return dnnl_data_type_undef;
}

dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                               DType dtype) {
  dnnl_memory_desc_t md;
  if (shape.empty()) return memory_desc({1}, dnnl_a, dtype);
  dnnl_status_t status = dnnl_memory_desc_init_by_strides(
      &md, static_cast<int>(shape.size()), shape.data(), dnnl_dtype(dtype), strides.data());
  assert(status == dnnl_success);
  (void)status;
  return md;
}

// oneDNN compares strides with those of a format tag even along axes of size 1.
dnnl_memory_desc_t memory_desc(const Place& p) {
  if (is_plain(p)) return memory_desc(p.shape, contiguous_strides(p.shape), p.dtype);
  if (is_nhwc(p)) return memory_desc(p.shape, nhwc_strides(p.shape), p.dtype);
  return memory_desc(p.shape, p.strides, p.dtype);
}

dnnl_memory_desc_t memory_desc(llvm::ArrayRef<int64_t> shape, dnnl_format_tag_t tag, DType dtype) {
  dnnl_memory_desc_t md;
  dnnl_status_t status = dnnl_memory_desc_init_by_tag(&md, static_cast<int>(shape.size()),
                                                      shape.data(), dnnl_dtype(dtype), tag);
  assert(status == dnnl_success);
  (void)status;
  return md;
}

} // namespace tg::cpu
