#include "runtime/tensor.h"

#include "runtime/convert.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tg {

void FreeAligned::operator()(std::byte* p) const { std::free(p); }

int64_t add_bytes(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

AlignedBuffer allocate_aligned(int64_t bytes) {
  assert(bytes >= 0 && "sizes are checked before anything is allocated");
  if (bytes >= int64_t{1} << 62) return {};
  // Large buffers request huge pages: each run streams through the weights,
  // and with small pages a virtual machine spends a tenth of that time on address translation.
  constexpr size_t kHugePage = size_t{2} << 20;
  size_t size = static_cast<size_t>(align_up(std::max<int64_t>(bytes, 1)));
  bool huge = size >= kHugePage;
  if (huge) size = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* p = std::aligned_alloc(huge ? kHugePage : static_cast<size_t>(kAlignment), size);
  bool zeroed = false;
#if defined(__linux__)
  if (p && huge) {
    (void)madvise(p, size, MADV_HUGEPAGE); // a hint; failure is harmless
    // The threads that fill the pages create them, as zeros, on first touch.
    zeroed = madvise(p, size, MADV_DONTNEED) == 0;
  }
#endif
  if (p && !zeroed) std::memset(p, 0, size);
  return AlignedBuffer(static_cast<std::byte*>(p));
}

Tensor::Tensor(const Tensor& other) : type_(other.type_), lent_(other.lent_) {
  if (!other.buffer_) return;
  buffer_ = allocate_aligned(bytes());
  capacity_ = bytes();
  if (!buffer_) std::abort(); // a copy cannot report; large tensors are moved or made by zeros()
  std::memcpy(buffer_.get(), other.buffer_.get(), static_cast<size_t>(bytes()));
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

Result<Tensor> Tensor::zeros(const TensorType& type) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.buffer_ = allocate_aligned(type.bytes());
  if (!tensor.buffer_)
    return error(Code::memory_limit, "cannot allocate {0} bytes for {1}", type.bytes(),
                 type.text());
  tensor.capacity_ = type.bytes();
  return tensor;
}

Result<Tensor> Tensor::in_place_of(Tensor spare, const TensorType& type) {
  if (spare.capacity() < type.bytes()) return zeros(type);
  spare.type_ = type;
  return spare;
}

Tensor Tensor::borrowed(TensorType type, std::shared_ptr<const std::byte> elements) {
  Tensor tensor;
  tensor.type_ = std::move(type);
  tensor.lent_ = std::move(elements);
  return tensor;
}

Result<Tensor> Tensor::aligned(Tensor tensor) {
  if (reinterpret_cast<uintptr_t>(tensor.lent_.get()) % kAlignment == 0) return tensor;
  TG_TRY(Tensor copy, zeros(tensor.type_));
  std::memcpy(copy.data(), tensor.lent_.get(), static_cast<size_t>(tensor.bytes()));
  return copy;
}

void Tensor::own() {
  Result<Tensor> copy = zeros(type_);
  if (!copy) std::abort(); // a copy cannot report an error
  std::memcpy(copy->buffer_.get(), lent_.get(), static_cast<size_t>(bytes()));
  *this = std::move(*copy);
}

Tensor Tensor::of_floats(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<float> values) {
  Result<Tensor> tensor = zeros(f32(shape));
  if (!tensor) std::abort();
  assert(static_cast<int64_t>(values.size()) == tensor->type().elements());
  std::copy(values.begin(), values.end(), tensor->floats().begin());
  return std::move(*tensor);
}

Tensor Tensor::of_indices(llvm::ArrayRef<int32_t> values) {
  Result<Tensor> tensor = zeros({DType::I32, {static_cast<int64_t>(values.size())}});
  if (!tensor) std::abort();
  std::memcpy(tensor->data(), values.data(), values.size() * sizeof(int32_t));
  return std::move(*tensor);
}

std::vector<double> Tensor::doubles() const {
  std::vector<double> values(static_cast<size_t>(type_.elements()));
  widen(type_.dtype, data(), values.data(), type_.elements());
  return values;
}

llvm::ArrayRef<float> Tensor::floats() const {
  assert(type_.dtype == DType::F32);
  return {reinterpret_cast<const float*>(data()), static_cast<size_t>(type_.elements())};
}

llvm::MutableArrayRef<float> Tensor::floats() {
  assert(type_.dtype == DType::F32);
  return {reinterpret_cast<float*>(data()), static_cast<size_t>(type_.elements())};
}

TensorSummary summarise(const Tensor& tensor) {
  TensorSummary summary;
  summary.checksum = 0xcbf29ce484222325;
  for (int64_t i = 0; i < tensor.bytes(); ++i)
    summary.checksum = (summary.checksum ^ static_cast<uint64_t>(tensor.data()[i])) * 0x100000001b3;
  std::vector<double> values = tensor.doubles();
  if (values.empty()) return summary;
  double sum = 0, squares = 0, count = static_cast<double>(values.size());
  for (double x : values) {
    sum += x;
    summary.finite &= std::isfinite(x);
  }
  summary.mean = sum / count;
  for (double x : values) squares += (x - summary.mean) * (x - summary.mean);
  summary.std = std::sqrt(squares / count);
  return summary;
}

/// The same for i64, whose differences doubles may not represent.
static double whole_rel_diff(const Tensor& a, const Tensor& b) {
  const auto* x = reinterpret_cast<const int64_t*>(a.data());
  const auto* y = reinterpret_cast<const int64_t*>(b.data());
  double distance = 0, scale = 0;
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    auto apart = static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(y[i]);
    distance = std::max(distance, static_cast<double>(x[i] < y[i] ? 0 - apart : apart));
    scale = std::max(scale, std::abs(static_cast<double>(y[i])));
  }
  return distance == 0 ? 0 : distance / scale; // b is all zero: infinity
}

double max_rel_diff(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(a.type() == b.type())) return kInfinity;
  if (a.type().dtype == DType::I64) return whole_rel_diff(a, b);
  std::vector<double> left = a.doubles(), right = b.doubles();
  double distance = 0, scale = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    double x = left[i], y = right[i];
    if (!std::isfinite(x) || !std::isfinite(y)) return kInfinity;
    distance = std::max(distance, std::abs(x - y));
    scale = std::max(scale, std::abs(y));
  }
  return distance == 0 ? 0 : distance / scale; // b is all zero: infinity
}

} // namespace tg
