#include "runtime/cpu/tile/register_tile.h"

#if defined(__x86_64__)
#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>
#endif

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tg::tile {

const char* isa_name(Isa isa) {
  switch (isa) {
  case Isa::Avx2: return "avx2";
  case Isa::Avx512: return "avx512";
  case Isa::Avx512Bf16: return "avx512_bf16";
  }
  return "";
}

#if defined(__x86_64__)

bool processor_has(Isa isa) {
  if (isa == Isa::Avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         (isa == Isa::Avx512 || __builtin_cpu_supports("avx512bf16"));
}

namespace {

constexpr size_t kCodeBytes = 512 << 10; // 14 rows of AVX-512 take some 5 KiB per tile

/// Emits one tile after the other into pages that are writable until seal().
class Emitter : public Xbyak::CodeGenerator {
public:
  explicit Emitter(Isa isa) : CodeGenerator(kCodeBytes, Xbyak::DontSetProtectRWE), isa_(isa) {}

  /// Returns the start of this tile's code.
  size_t emit(int64_t rows, int64_t panels, Reach reach) {
    rows_ = static_cast<int>(rows);
    panels_ = static_cast<int>(panels);
    bool half = reach == Reach::HalfPanel;
    vectors_ = half ? 1 : 2 * panels_;
    align(64);
    size_t start = getSize();
    for (const Xbyak::Reg64& reg : saved_) push(reg);
    point_at_operands();
    for (int i = 0; i < rows_ * vectors_; ++i) clear(vec(i));
    along_depth();
    finish();
    return start;
  }

  /// From now on the pages can be executed but not written.
  bool seal() { return Xbyak::GetError() == 0 && setProtectModeRE(false); }

private:
  // --- registers: sums first, row by row; then the registers of a step --------------------------
  Xbyak::Xmm vec(int index) const {
    return {isa_ == Isa::Avx2 ? Xbyak::Operand::YMM : Xbyak::Operand::ZMM, index};
  }
  Xbyak::Xmm sum(int row, int vector) const { return vec(row * vectors_ + vector); }
  Xbyak::Xmm spare(int index) const { return vec(rows_ * vectors_ + index); }
  int vector_bytes() const { return static_cast<int>(lanes(isa_)) * 4; }
  int panel_row_bytes() const { return static_cast<int>(panel_columns(isa_)) * 4; }
  Xbyak::Address field(size_t offset) const { return ptr[rdi + static_cast<int>(offset)]; }

  /// Three rows, or panels, share a pointer: at 0, 1 and 2 steps.
  Xbyak::Address x_at(int row, int disp) const {
    const Xbyak::Reg64& base = x_[row / 3];
    return row % 3 == 0 ? ptr[base + disp] : ptr[base + row_step_ * (row % 3) + disp];
  }
  Xbyak::Address panel_at(int vector, int disp) const {
    int panel = vector / 2;
    disp += vector % 2 * vector_bytes();
    const Xbyak::Reg64& base = w_[panel / 3];
    return panel % 3 == 0 ? ptr[base + disp] : ptr[base + panel_step_ * (panel % 3) + disp];
  }

  void point_at(const Xbyak::Reg64* bases, int count, const Xbyak::Reg64& step) {
    for (int i = 3; i < count; i += 3) {
      lea(bases[i / 3], ptr[bases[i / 3 - 1] + step * 2]);
      add(bases[i / 3], step);
    }
  }
  void point_at_operands() {
    mov(x_[0], field(offsetof(TileCall, x)));
    mov(row_step_, field(offsetof(TileCall, x_row)));
    point_at(x_, rows_, row_step_);
    mov(w_[0], field(offsetof(TileCall, panel)));
    mov(panel_step_, field(offsetof(TileCall, panel_step)));
    point_at(w_, panels_, panel_step_);
    mov(count_, field(offsetof(TileCall, depth)));
    mov(ahead_, field(offsetof(TileCall, ahead)));
  }

  // --- the hot loop -----------------------------------------------------------------------------
  void along_depth() {
    constexpr int kUnroll = 4;
    Xbyak::Label unrolled, rest, one, done;
    sub(count_, kUnroll);
    jl(rest, T_NEAR);
    align(32);
    L(unrolled);
    for (int i = 0; i < kUnroll; ++i) step(i);
    prefetcht1(ptr[ahead_]);
    add(ahead_, 64);
    advance(kUnroll);
    sub(count_, kUnroll);
    jge(unrolled, T_NEAR);
    L(rest);
    add(count_, kUnroll);
    jz(done, T_NEAR);
    L(one);
    step(0);
    advance(1);
    dec(count_);
    jnz(one, T_NEAR);
    L(done);
    if (!in_pairs()) return;
    Xbyak::Label none;
    cmp(qword[rdi + static_cast<int>(offsetof(TileCall, alone))], 0);
    jz(none, T_NEAR);
    step(0, /*alone=*/true);
    L(none);
  }

  void advance(int steps) {
    for (int row = 0; row < rows_; row += 3) add(x_[row / 3], 4 * steps);
    for (int panel = 0; panel < panels_; panel += 3) add(w_[panel / 3], panel_row_bytes() * steps);
  }

  /// Emits one step along the depth, `index` steps from the pointers.
  /// If `alone`, only the first element of x's cell is read: memory after it may not exist.
  void step(int index, bool alone = false) {
    int x = 4 * index, w = panel_row_bytes() * index;
    if (rows_ > vectors_)
      by_rows(x, w, alone);
    else
      by_vectors(x, w, alone);
  }
  // With one vector per row, AVX-512 broadcasts x in the multiply-add itself:
  // with a separate broadcast, Zen 4 starts less than one of the two per cycle (64 x 784 x 10:
  // 18 us separately, 13.7 us combined).
  void by_rows(int x, int w, bool alone) {
    for (int v = 0; v < vectors_; ++v) vmovups(spare(v), panel_at(v, w));
    for (int row = 0; row < rows_; ++row) {
      if (vectors_ == 1 && isa_ != Isa::Avx2 && !alone) {
        multiply_add(sum(row, 0), spare(0), ptr_b[x_at(row, x).getRegExp()]);
        continue;
      }
      spread(spare(vectors_), row, x, alone);
      for (int v = 0; v < vectors_; ++v) multiply_add(sum(row, v), spare(v), spare(vectors_));
    }
  }
  void by_vectors(int x, int w, bool alone) {
    for (int row = 0; row < rows_; ++row) spread(spare(row), row, x, alone);
    for (int v = 0; v < vectors_; ++v) {
      vmovups(spare(rows_), panel_at(v, w));
      for (int row = 0; row < rows_; ++row) multiply_add(sum(row, v), spare(rows_), spare(row));
    }
  }
  /// Broadcasts a cell of x to all lanes.
  void spread(const Xbyak::Xmm& to, int row, int disp, bool alone) {
    if (!alone) return vbroadcastss(to, x_at(row, disp));
    movzx(pointer_.cvt32(), word[x_at(row, disp).getRegExp()]);
    vpbroadcastd(to, pointer_.cvt32());
  }
  void multiply_add(const Xbyak::Xmm& sum, const Xbyak::Xmm& w, const Xbyak::Operand& x) {
    if (in_pairs())
      vdpbf16ps(sum, w, x);
    else
      vfmadd231ps(sum, w, x);
  }
  bool in_pairs() const { return isa_ == Isa::Avx512Bf16; }

  // --- after it ---------------------------------------------------------------------------------
  void finish() {
    Xbyak::Label no_sums, is_last, masked, out;
    unless(offsetof(TileCall, sums_in), no_sums);
    for (int i = 0; i < rows_ * vectors_; ++i)
      vaddps(vec(i), vec(i), ptr[pointer_ + i * vector_bytes()]);
    L(no_sums);
    unless(offsetof(TileCall, sums_out), is_last);
    for (int i = 0; i < rows_ * vectors_; ++i) vmovups(ptr[pointer_ + i * vector_bytes()], vec(i));
    leave();
    L(is_last);
    mov(mask_, field(offsetof(TileCall, mask)));
    test(mask_, mask_);
    jnz(masked, T_NEAR);
    write(false);
    L(masked);
    write(true);
  }

  /// Loads a pointer of the call; jumps if it is null.
  void unless(size_t offset, Xbyak::Label& null) {
    mov(pointer_, field(offset));
    test(pointer_, pointer_);
    jz(null, T_NEAR);
  }

  void write(bool masked) {
    Xbyak::Label no_bias, no_residual, no_relu;
    unless(offsetof(TileCall, bias), no_bias);
    for (int v = 0; v < vectors_; ++v) {
      load(spare(0), v, masked);
      for (int row = 0; row < rows_; ++row) vaddps(sum(row, v), sum(row, v), spare(0));
    }
    L(no_bias);
    unless(offsetof(TileCall, residual), no_residual);
    mov(row_step_, field(offsetof(TileCall, residual_row)));
    for (int row = 0; row < rows_; ++row) {
      for (int v = 0; v < vectors_; ++v) {
        if (in_pairs())
          widen(spare(0), v, masked);
        else
          load(spare(0), v, masked);
        vaddps(sum(row, v), sum(row, v), spare(0));
      }
      add(pointer_, row_step_);
    }
    L(no_residual);
    cmp(qword[rdi + static_cast<int>(offsetof(TileCall, relu))], 0);
    jz(no_relu, T_NEAR);
    relu();
    L(no_relu);
    mov(pointer_, field(offsetof(TileCall, y)));
    mov(row_step_, field(offsetof(TileCall, y_row)));
    if (masked && isa_ == Isa::Avx2) return store_in_pieces();
    Xbyak::Label narrow;
    if (in_pairs()) {
      cmp(qword[rdi + static_cast<int>(offsetof(TileCall, narrow))], 0);
      jnz(narrow, T_NEAR);
    }
    for (int row = 0; row < rows_; ++row) {
      for (int v = 0; v < vectors_; ++v) store(v, sum(row, v), masked);
      add(pointer_, row_step_);
    }
    leave();
    if (!in_pairs()) return;
    L(narrow);
    for (int row = 0; row < rows_; ++row) {
      for (int v = 0; v < vectors_; ++v) store_narrow(v, sum(row, v), masked);
      add(pointer_, row_step_);
    }
    leave();
  }

  /// Stores columns of the last panel in fours, twos and ones: a masked store is slow on Zen.
  void store_in_pieces() {
    Xbyak::Label few;
    mov(mask_, pointer_);
    mov(count_, field(offsetof(TileCall, last_columns)));
    cmp(count_, static_cast<int>(lanes(isa_)));
    jl(few, T_NEAR);
    if (vectors_ == 1) {
      store_rows(1);
    } else {
      store_rows(vectors_ - 1);
      store_rest(vectors_ - 1);
    }
    leave();
    L(few);
    int last = std::max(0, vectors_ - 2);
    store_rows(last);
    store_rest(last);
    leave();
  }
  void store_rows(int vectors) {
    for (int row = 0; row < rows_ && vectors > 0; ++row) {
      for (int v = 0; v < vectors; ++v) store(v, sum(row, v), false);
      add(pointer_, row_step_);
    }
  }
  /// Stores as many lanes of vector v as the low three bits of the count say; y is in mask_.
  void store_rest(int v) {
    add(mask_, v * vector_bytes());
    for (int lanes : {4, 2, 1}) {
      Xbyak::Label none;
      test(count_, lanes);
      jz(none, T_NEAR);
      mov(pointer_, mask_);
      for (int row = 0; row < rows_; ++row) {
        store_lanes(lanes, sum(row, v));
        if (row + 1 < rows_) add(pointer_, row_step_);
      }
      add(mask_, 4 * lanes);
      L(none);
    }
  }
  /// Stores the lowest lanes and shifts the higher ones down.
  void store_lanes(int lanes, const Xbyak::Xmm& from) {
    Xbyak::Xmm low(from.getIdx());
    if (lanes == 4) {
      vmovups(ptr[pointer_], low);
      vextractf128(low, Xbyak::Ymm(from.getIdx()), 1);
    } else if (lanes == 2) {
      vmovlps(ptr[pointer_], low);
      vmovhlps(low, low, low);
    } else {
      vmovss(ptr[pointer_], low);
    }
  }

  /// Uses a comparison for which a NaN is neither less nor invalid, so that the processor's flags
  /// stay clear.
  void relu() {
    constexpr uint8_t kLess = 0x11, kNotLess = 0x15; // LT_OQ, NLT_UQ
    clear(spare(0));
    for (int i = 0; i < rows_ * vectors_; ++i)
      if (isa_ == Isa::Avx2) {
        vcmpps(spare(1), vec(i), spare(0), kLess);
        vandnps(vec(i), spare(1), vec(i));
      } else {
        vcmpps(k1, vec(i), spare(0), kNotLess);
        vmovaps(vec(i) | k1 | T_z, vec(i));
      }
  }

  void clear(const Xbyak::Xmm& v) {
    if (isa_ == Isa::Avx2)
      vxorps(v, v, v);
    else
      vpxord(v, v, v);
  }

  /// Loads the mask of the existing lanes of vector v: in k1, or in a register.
  void load_mask(int v) {
    Xbyak::Address at = ptr[mask_ + v * vector_bytes()];
    vmovups(spare(1), at);
    if (isa_ != Isa::Avx2) vpmovd2m(k1, spare(1));
  }
  void load(const Xbyak::Xmm& to, int v, bool masked) {
    Xbyak::Address at = ptr[pointer_ + v * vector_bytes()];
    if (!masked) return vmovups(to, at);
    load_mask(v);
    if (isa_ == Isa::Avx2)
      vmaskmovps(to, spare(1), at);
    else
      vmovups(to | k1 | T_z, at);
  }
  void store(int v, const Xbyak::Xmm& from, bool masked) {
    Xbyak::Address at = ptr[pointer_ + v * vector_bytes()];
    if (!masked) return vmovups(at, from);
    load_mask(v);
    vmovups(at | k1, from);
  }

  // For bf16, half as wide: conversion to floats, and rounding from them.
  Xbyak::Xmm half_of(const Xbyak::Xmm& v) const { return {Xbyak::Operand::YMM, v.getIdx()}; }
  void widen(const Xbyak::Xmm& to, int v, bool masked) {
    Xbyak::Address at = ptr[pointer_ + v * vector_bytes() / 2];
    if (masked) load_mask(v);
    if (masked)
      vpmovzxwd(to | k1 | T_z, at);
    else
      vpmovzxwd(to, at);
    vpslld(to, to, 16);
  }
  void store_narrow(int v, const Xbyak::Xmm& from, bool masked) {
    Xbyak::Address at = ptr[pointer_ + v * vector_bytes() / 2];
    if (masked) load_mask(v);
    vcvtneps2bf16(half_of(from), from);
    if (masked)
      vmovdqu16(at | k1, half_of(from));
    else
      vmovdqu16(at, half_of(from));
  }

  void leave() {
    for (size_t i = std::size(saved_); i-- > 0;) pop(saved_[i]);
    vzeroupper();
    ret();
  }

  // The call's address is in rdi. The ABI allows use of these registers, after saving rbx
  // and r12 to r15.
  const Xbyak::Reg64 saved_[5] = {rbx, r12, r13, r14, r15};
  const Xbyak::Reg64 x_[5] = {rax, rcx, rdx, rsi, r8};
  const Xbyak::Reg64 w_[2] = {r9, r10};
  const Xbyak::Reg64 row_step_ = r11, panel_step_ = rbx;
  const Xbyak::Reg64 count_ = r12, pointer_ = r13, mask_ = r14, ahead_ = r15;

  Isa isa_;
  int rows_ = 0, panels_ = 0, vectors_ = 0;
};

} // namespace

struct TileKernels::Pages {
  Emitter emitter;
  explicit Pages(Isa isa) : emitter(isa) {}
};

Result<std::unique_ptr<TileKernels>> TileKernels::make(Isa isa) {
  if (!processor_has(isa)) return error(Code::device, "this processor has no {0}", isa_name(isa));
  Xbyak::ClearError();
  std::unique_ptr<TileKernels> kernels(new TileKernels(isa));
  kernels->pages_ = std::make_unique<Pages>(isa);
  Emitter& emitter = kernels->pages_->emitter;
  std::vector<std::optional<size_t>> starts;
  for (int64_t rows = 1; rows <= most_rows(isa); ++rows) {
    starts.push_back(emitter.emit(rows, 1, Reach::HalfPanel));
    for (int64_t panels = 1; panels <= kMostPanels; ++panels)
      starts.push_back(panels <= most_panels(isa, rows)
                           ? std::optional(emitter.emit(rows, panels, Reach::Panels))
                           : std::nullopt);
  }
  if (!emitter.seal())
    return error(Code::device, "no memory for machine code of {0}", isa_name(isa));
  auto code = reinterpret_cast<uintptr_t>(emitter.getCode());
  for (std::optional<size_t> start : starts)
    kernels->tiles_.push_back(start ? reinterpret_cast<TileFn>(code + *start) : nullptr);
  return kernels;
}

size_t TileKernels::code_bytes() const { return pages_->emitter.getSize(); }

#else // other processors are not supported yet

bool processor_has(Isa) { return false; }
struct TileKernels::Pages {};
Result<std::unique_ptr<TileKernels>> TileKernels::make(Isa isa) {
  return error(Code::device, "this processor has no {0}", isa_name(isa));
}
size_t TileKernels::code_bytes() const { return 0; }

#endif

TileKernels::TileKernels(Isa isa) : isa_(isa) {}
TileKernels::~TileKernels() = default;

} // namespace tg::tile
