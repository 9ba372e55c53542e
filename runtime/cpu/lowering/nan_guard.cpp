#include "runtime/cpu/lowering/nan_guard.h"

#include "runtime/cpu/simd/act_instr.h"
#include "runtime/execute.h"

#include <algorithm>
#include <cfenv>

namespace tg::cpu {

namespace {

/// Returns the elements of a result: by strides or, in a blocked layout, as one range.
Place elements_of(const PrimitiveArg& arg) {
  const dnnl_memory_desc_t& md = arg.layout;
  DType dtype = md.data_type == dnnl_bf16 ? DType::BF16 : DType::F32;
  Place place{arg.place.buffer, arg.place.offset, {}, {}, dtype};
  if (md.format_kind == dnnl_blocked && md.format_desc.blocking.inner_nblks == 0) {
    place.shape.assign(md.dims, md.dims + md.ndims);
    place.strides.assign(md.format_desc.blocking.strides,
                         md.format_desc.blocking.strides + md.ndims);
    return place;
  }
  place.shape = {static_cast<int64_t>(dnnl_memory_desc_get_size(&md)) / dtype_size(dtype)};
  place.strides = {1};
  return place;
}

/// Applies an activation to a result in its layout.
class Activation {
public:
  Activation(Act act, Place place) : instr_(instr_of(act)), place_(std::move(place)) {
    outer_ = loops({&place_});
    inner_ = outer_.pop_back_val();
    if (inner_.strides[0] != 1 && inner_.extent != 1) {
      outer_.push_back(inner_);
      inner_ = {1, {1}};
    }
    pieces_ = (inner_.extent + kPiece - 1) / kPiece;
    count_ = pieces_;
    for (const Loop& loop : outer_) count_ *= loop.extent;
  }

  void run(const Addresses& addresses) const {
    std::byte* base = addresses.bytes(place_);
    for (int64_t i = 0; i < count_; ++i) piece(base, i);
  }

private:
  static constexpr int64_t kPiece = 1024;

  void piece(std::byte* base, int64_t index) const {
    int64_t start = index % pieces_ * kPiece, offset = start, rest = index / pieces_;
    for (size_t i = outer_.size(); i-- > 0;) {
      offset += rest % outer_[i].extent * outer_[i].strides[0];
      rest /= outer_[i].extent;
    }
    int64_t count = std::min(kPiece, inner_.extent - start);
    std::byte* at = base + offset * dtype_size(place_.dtype);
    if (place_.dtype == DType::F32) {
      auto* floats = reinterpret_cast<float*>(at);
      return simd().apply(instr_, floats, floats, nullptr, nullptr, count);
    }
    float floats[kPiece];
    auto* halves = reinterpret_cast<uint16_t*>(at);
    simd().from_bf16(floats, halves, count);
    simd().apply(instr_, floats, floats, nullptr, nullptr, count);
    simd().to_bf16(halves, floats, count);
  }

  Instr instr_;
  Place place_;
  llvm::SmallVector<Loop, 4> outer_;
  Loop inner_;
  int64_t pieces_ = 1, count_ = 1;
};

class GuardedKernel final : public Kernel {
public:
  GuardedKernel(std::unique_ptr<Kernel> kernel, PrimitiveDescHandle pd, const Attr& attr,
                llvm::ArrayRef<PrimitiveArg> args, dnnl_engine_t engine)
      : kernel_(std::move(kernel)), pd_(std::move(pd)), sum_(attr.sum),
        args_(args.begin(), args.end()), engine_(engine),
        activation_(attr.act, elements_of(*llvm::find_if(args, [](const PrimitiveArg& arg) {
                      return arg.name == DNNL_ARG_DST;
                    }))) {}

  Result<void> bind(const Addresses& addresses) override {
    bound_ = addresses;
    if (exact_) TG_CHECK(bind_exact());
    return kernel_->bind(addresses);
  }

  dnnl_status_t run(dnnl_stream_t stream) override { return kernel_->run(stream); }

  bool may_lose_nan() const override { return true; }

  Result<void> run_exact(dnnl_stream_t stream) override {
    if (!exact_) {
      int64_t scratch_bytes = 0;
      TG_TRY(PrimitiveDescHandle pd, without_activation(pd_, sum_, engine_));
      TG_TRY(exact_, make_primitive_kernel(pd, engine_, args_, scratch_bytes));
      TG_TRY(scratch_, allocate(scratch_bytes));
      TG_CHECK(bind_exact());
    }
    TG_CHECK(exact_->run_exact(stream));
    activation_.run(bound_);
    return {};
  }

private:
  // oneDNN's own scratch memory belongs to the thread that made the primitive,
  // but any thread may run this.
  Result<void> bind_exact() {
    Addresses own = bound_;
    own.scratch = scratch_.get();
    return exact_->bind(own);
  }

  std::unique_ptr<Kernel> kernel_, exact_; // the second is made on first use
  AlignedBuffer scratch_;                  // of the second
  PrimitiveDescHandle pd_;
  bool sum_;
  std::vector<PrimitiveArg> args_;
  dnnl_engine_t engine_;
  Activation activation_;
  Addresses bound_;
};

} // namespace

Result<void> Kernel::run_exact(dnnl_stream_t stream) {
  if (dnnl_status_t s = run(stream); s != dnnl_success) return device_error(s, "a kernel");
  return {};
}

Result<std::unique_ptr<Kernel>> make_guarded_kernel(std::unique_ptr<Kernel> kernel,
                                                    const PrimitiveDescHandle& pd, const Attr& attr,
                                                    llvm::ArrayRef<PrimitiveArg> args,
                                                    dnnl_engine_t engine) {
  dnnl_primitive_desc_t copy = nullptr;
  if (dnnl_status_t s = dnnl_primitive_desc_clone(&copy, pd.get()); s != dnnl_success)
    return device_error(s, "copying a description");
  return std::unique_ptr<Kernel>(std::make_unique<GuardedKernel>(
      std::move(kernel), PrimitiveDescHandle(copy), attr, args, engine));
}

void raise_invalid_flag() { std::feraiseexcept(FE_INVALID); }

bool take_invalid_flag() {
  if (!std::fetestexcept(FE_INVALID)) return false;
  std::feclearexcept(FE_INVALID);
  return true;
}

} // namespace tg::cpu
