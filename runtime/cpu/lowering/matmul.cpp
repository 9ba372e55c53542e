// Lowers matmul to oneDNN, unless our own tiles are faster (tile_matmul.h).
// If the right operand is one matrix, the left operand's leading dimensions become rows
// of a plain product, and a matrix known at load is packed into the layout
// that the implementation requests (at one row, twice as fast as row-major).
// Batched products use operands and result in place if oneDNN's brgemm supports it (transposed,
// or batch and rows exchanged, as in attention: its transposes are then free).
// Otherwise they are copied first, which is cheaper than oneDNN's strided gemm:
// 16 x 64^3 takes 35 us dense, 36 to 40 us exchanged, 128 us through gemm.
#include "runtime/cpu/lowering/slices.h"
#include "runtime/cpu/lowering/tile_matmul.h"

#include <algorithm>
#include <cmath>

namespace tg::cpu {

namespace {

struct Product {
  dnnl_memory_desc_t x, y, bias, dst;
  bool has_bias = false;
  Attr attr;
};

Result<PrimitiveDescHandle> describe_product(Lowering& l, const Product& p) {
  dnnl_matmul_desc_t desc;
  if (dnnl_status_t s =
          dnnl_matmul_desc_init(&desc, &p.x, &p.y, p.has_bias ? &p.bias : nullptr, &p.dst);
      s != dnnl_success)
    return device_error(s, "describing a matmul");
  TG_TRY(AttrHandle attr, make_attr(p.attr));
  return make_primitive_desc(&desc, attr, l.engine, "matmul");
}

Result<void> add_product(Lowering& l, const PlanStep& step, const PrimitiveDescHandle& pd,
                         Product p, const Place& x, const Place& y, const Place& dst) {
  dnnl_memory_desc_t packed_md = wanted(pd, dnnl_query_weights_md);
  TG_TRY(Place packed, l.packed(y, memory_desc(y), packed_md,
                                l.at_load(y) ? Phase::Load : step.phase, "pack matrix"));
  llvm::SmallVector<PrimitiveArg, 4> args = {
      {DNNL_ARG_SRC, p.x, x}, {DNNL_ARG_WEIGHTS, packed_md, packed}, {DNNL_ARG_DST, p.dst, dst}};
  if (p.has_bias) {
    TG_TRY(Place bias, l.operand_plain(operand(step, "bias")));
    args.push_back({DNNL_ARG_BIAS, p.bias, bias});
  }
  return l.add_primitive(step, pd, args, p.attr);
}

/// The minimum number of rows of a slice: with fewer, reading the matrix takes longer than
/// multiplying.
constexpr int64_t kLeastRows = 8;

/// Lowers a product whose y is one matrix: [rows, k] @ [k, n].
Result<void> lower_single(Lowering& l, const PlanStep& step, Product p, int64_t k, int64_t n) {
  PlanValueId x_value = operand(step, "x"), y_value = operand(step, "y");
  int64_t rows = l.type(x_value).elements() / k;
  TG_TRY(Place x_plain, l.operand_plain(x_value));
  std::optional<Place> x = reshape(x_plain, {rows, k}), y = reshape(l.place(y_value), {k, n});
  bool y_fits = y && (l.at_load(y_value) || is_plain(*y) || is_plain(transpose(*y, {1, 0})));
  if (!y_fits || !is_dense(*y)) {
    TG_TRY(Place plain, l.operand_plain(y_value));
    y = reshape(plain, {k, n});
  }
  TG_TRY(Place dst_whole, l.product_result(step, contiguous_strides(l.type(step.result).shape)));
  std::optional<Place> dst = reshape(dst_whole, {rows, n});
  p.y = l.at_load(y_value) ? memory_desc({k, n}, dnnl_format_tag_any, y->dtype) : memory_desc(*y);
  p.bias = memory_desc({1, n}, dnnl_ab, dst->dtype);
  Threads threads = l.threads_for(matmul_us(l.describe(step)));
  auto slices = static_cast<int>(std::clamp<int64_t>(rows / kLeastRows, 1, threads));
  return add_sliced(l, step, threads, slices, [&](int i) -> Result<void> {
    int64_t begin = rows * i / slices, end = rows * (i + 1) / slices;
    Place from = slice(*x, 0, begin, end), to = slice(*dst, 0, begin, end);
    p.x = memory_desc(from);
    p.dst = memory_desc(to);
    TG_TRY(PrimitiveDescHandle pd, describe_product(l, p));
    return add_product(l, step, pd, p, from, *y, to);
  });
}

/// Places of the three tensors of a batched product, all of one rank, at least 4.
struct Batched {
  Place x, y, dst;
};

/// Returns the place with leading axes of size 1 up to this rank.
Place with_rank(const Place& p, size_t rank) {
  Place out = p;
  size_t missing = rank - p.shape.size();
  out.shape.insert(out.shape.begin(), missing, 1);
  out.strides.insert(out.strides.begin(), missing, 0);
  return out;
}

/// Merges leading axes into their outer neighbours while all three places have uniform strides
/// and none is broadcast against the others, to give oneDNN as few axes as possible.
void merge_leading(Batched& b) {
  for (size_t i = b.dst.shape.size() - 3; i-- > 0;) {
    bool even = true;
    for (const Place* p : {&b.x, &b.y, &b.dst}) {
      bool whole = p->shape[i] == b.dst.shape[i] && p->shape[i + 1] == b.dst.shape[i + 1];
      even &= whole && (p->shape[i] == 1 || p->shape[i + 1] == 1 ||
                        p->strides[i] == p->strides[i + 1] * p->shape[i + 1]);
    }
    if (!even) continue;
    for (Place* p : {&b.x, &b.y, &b.dst}) {
      if (p->shape[i + 1] == 1) p->strides[i + 1] = p->strides[i];
      p->shape[i + 1] *= p->shape[i];
      p->shape.erase(p->shape.begin() + static_cast<ptrdiff_t>(i));
      p->strides.erase(p->strides.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

Batched batched(const Place& x, const Place& y, const Place& dst) {
  size_t rank = dst.shape.size();
  Batched b{with_rank(x, rank), with_rank(y, rank), dst};
  merge_leading(b);
  rank = std::max<size_t>(b.dst.shape.size(), 4);
  return {with_rank(b.x, rank), with_rank(b.y, rank), with_rank(b.dst, rank)};
}

/// Returns strides that oneDNN knows by a tag, if the place is dense in some order of its axes.
dnnl_memory_desc_t tagged_desc(const Place& p) {
  Shape dense = dense_like(p);
  if (is_plain(p) || !same_strides(p.shape, p.strides, dense)) return memory_desc(p);
  return memory_desc(p.shape, dense, p.dtype);
}

bool is_brgemm(const PrimitiveDescHandle& pd) {
  return llvm::StringRef(implementation(pd)).startswith("brg");
}

/// How a batched product is run: with operands in place or copied, and the result
/// in its reader's layout or row-major.
struct Form {
  bool copy_operands, plain_result;
};
constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

class BatchedLowering {
public:
  BatchedLowering(Lowering& l, const PlanStep& step, Product product)
      : l_(l), step_(step), product_(product), x_(operand(step, "x")), y_(operand(step, "y")) {}

  Result<void> run() {
    Threads threads = l_.threads_for(matmul_us(l_.describe(step_)));
    TG_TRY(Form form, choose());
    Place x = l_.place(x_), y = l_.place(y_);
    if (form.copy_operands) {
      TG_TRY(x, l_.operand_plain(x_));
      TG_TRY(y, l_.operand_plain(y_));
    }
    TG_TRY(Place dst, l_.product_result(step_, result_strides(form)));
    std::optional<Place> bias;
    if (product_.has_bias) {
      TG_TRY(bias, l_.operand_plain(operand(step_, "bias")));
    }
    TG_TRY(std::vector<Batched> slices, slices_of(batched(x, y, dst), threads));
    return add_sliced(l_, step_, threads, static_cast<int>(slices.size()),
                      [&](int i) { return add(slices[static_cast<size_t>(i)], bias); });
  }

private:
  Result<void> add(const Batched& b, const std::optional<Place>& bias) {
    Product p = describe(b);
    TG_TRY(PrimitiveDescHandle pd, describe_product(l_, p));
    llvm::SmallVector<PrimitiveArg, 4> args = {
        {DNNL_ARG_SRC, p.x, b.x}, {DNNL_ARG_WEIGHTS, p.y, b.y}, {DNNL_ARG_DST, p.dst, b.dst}};
    if (bias) args.push_back({DNNL_ARG_BIAS, p.bias, *bias});
    return l_.add_primitive(step_, pd, args, p.attr);
  }

  /// Returns parts of the products, or of their rows, that the same kernel runs as the whole:
  /// most kernels support only operands without gaps. The axis that divides most evenly is chosen.
  Result<std::vector<Batched>> slices_of(const Batched& whole, int threads) const {
    TG_TRY(PrimitiveDescHandle pd, describe_product(l_, describe(whole)));
    size_t rows = whole.dst.shape.size() - 2;
    llvm::SmallVector<std::pair<double, size_t>, 4> axes; // by the largest share of a thread
    for (size_t axis = 0; axis <= rows && threads > 1; ++axis) {
      int64_t extent = whole.dst.shape[axis];
      int64_t count = std::min<int64_t>(threads, axis == rows ? extent / kLeastRows : extent);
      if (count < 2) continue;
      axes.emplace_back(std::ceil(extent / static_cast<double>(count)) / extent, axis);
    }
    llvm::stable_sort(axes);
    for (auto [share, axis] : axes) {
      std::vector<Batched> slices;
      int64_t extent = whole.dst.shape[axis];
      auto count = static_cast<int64_t>(std::round(1 / share));
      for (int64_t i = 0; i < count; ++i) {
        auto cut = [&](const Place& p) {
          int64_t begin = extent * i / count, end = extent * (i + 1) / count;
          return p.shape[axis] == 1 ? p : slice(p, static_cast<int64_t>(axis), begin, end);
        };
        slices.push_back({cut(whole.x), axis == rows ? whole.y : cut(whole.y), cut(whole.dst)});
      }
      if (llvm::all_of(slices, [&](const Batched& one) {
            Result<PrimitiveDescHandle> own = describe_product(l_, describe(one));
            return own && implementation(*own) == implementation(pd);
          }))
        return slices;
    }
    return std::vector<Batched>{whole};
  }

  Shape result_strides(const Form& form) const {
    return form.plain_result ? contiguous_strides(l_.type(step_.result).shape)
                             : l_.preferred_strides(step_.result);
  }

  Product describe(const Batched& b) const {
    Product p = product_;
    p.x = tagged_desc(b.x);
    p.y = tagged_desc(b.y);
    p.dst = tagged_desc(b.dst);
    Shape bias(b.dst.shape.size(), 1);
    bias.back() = b.dst.shape.back();
    p.bias = memory_desc(bias, contiguous_strides(bias), b.dst.dtype);
    return p;
  }

  /// Returns the first form that oneDNN runs by brgemm. If there is none (before AVX-512),
  /// returns the first that it runs by gemm, which requires adjacent rows or columns:
  /// with operands in place if they have no gaps, else copied.
  Result<Form> choose() const {
    bool repeated = interleaves(l_.place(x_)) || interleaves(l_.place(y_));
    for (const Form& form : kForms) {
      if (repeated && !form.copy_operands) continue;
      if (Result<PrimitiveDescHandle> pd = described(form); pd && is_brgemm(*pd)) return form;
    }
    bool gaps = has_gaps(l_.place(x_)) || has_gaps(l_.place(y_));
    Result<PrimitiveDescHandle> lying = described({gaps, true});
    if (gaps || (lying && !is_reference(*lying))) return Form{gaps, true};
    Result<PrimitiveDescHandle> copied = described({true, true});
    return Form{copied && !is_reference(*copied), true};
  }

  /// Returns the primitive by which oneDNN would run the product in this form.
  Result<PrimitiveDescHandle> described(const Form& form) const {
    Place x = l_.place(x_), y = l_.place(y_);
    if (form.copy_operands) {
      x.strides = contiguous_strides(x.shape);
      y.strides = contiguous_strides(y.shape);
    }
    Place dst{kNoBuffer, 0, l_.type(step_.result).shape, result_strides(form), x.dtype};
    return describe_product(l_, describe(batched(x, y, dst)));
  }

  static bool has_gaps(const Place& p) { return !is_dense(p); }

  Lowering& l_;
  const PlanStep& step_;
  Product product_;
  PlanValueId x_, y_;
};

} // namespace

double matmul_us(const Op& op) { return std::max(op.flops / 150e3, op.bytes / 40e3); }

Result<void> lower_matmul(Lowering& l, const PlanStep& step) {
  if (const tile::TileKernels* tiles = tiles_for(l, step))
    return lower_tile_matmul(l, step, *tiles);
  const Shape& y = l.type(operand(step, "y")).shape;
  int64_t k = y[y.size() - 2], n = y.back();
  Product product;
  product.has_bias = operand(step, "bias") != kNoValue;
  product.attr = {operand(step, "residual") != kNoValue, *parse_act(attr(step, "act").text)};
  if (l.type(operand(step, "y")).elements() == k * n) return lower_single(l, step, product, k, n);
  return BatchedLowering(l, step, product).run();
}

} // namespace tg::cpu
