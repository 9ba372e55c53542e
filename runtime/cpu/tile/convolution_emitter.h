// What emitters of convolutions share. Only for files that emit code: it includes Xbyak.
//
// One emitter serves AVX2 and AVX-512: lanes, registers and masks are all that differ. With AVX-512
// lanes that exist are bits of a mask register, set once at the head of the code; with AVX2 they
// are words of memory, which the call names.
#pragma once

#include "runtime/cpu/tile/convolution.h"

#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include <algorithm>
#include <cstddef>

namespace tg::tile {

class ConvolutionEmitter : public Xbyak::CodeGenerator {
public:
  ConvolutionEmitter(size_t bytes, Isa isa)
      : CodeGenerator(bytes, Xbyak::DontSetProtectRWE), isa_(isa) {}

  /// From here on the pages can be run and not written.
  bool seal() { return Xbyak::GetError() == 0 && setProtectModeRE(false); }
  /// What was emitted there.
  template <class Fn> Fn function(size_t start) const {
    return reinterpret_cast<Fn>(reinterpret_cast<uintptr_t>(getCode()) + start);
  }

protected:
  /// `rows` for each plane of the kernel, as many as the call says; it leaves x behind the last row
  /// that it has read, and w as well.
  template <class Rows>
  void kernel_planes(const ConvolutionShape& shape, const Xbyak::Reg64& call, size_t loop,
                     const Xbyak::Reg64& x, const Xbyak::Reg64& w, const Rows& rows) {
    if (shape.depth.kernel == 1) return rows();
    Xbyak::Label next;
    auto field = [&](size_t offset) { return ptr[call + static_cast<int>(loop + offset)]; };
    push(qword[call + static_cast<int>(loop + offsetof(PlaneLoop, count))]);
    L(next);
    rows();
    add(x, field(offsetof(PlaneLoop, x)));
    add(w, field(offsetof(PlaneLoop, w)));
    dec(qword[rsp]);
    jnz(next, T_NEAR);
    lea(rsp, ptr[rsp + 8]);
  }

  static int bytes(int64_t elements) { return static_cast<int>(4 * elements); }
  bool is_wide() const { return isa_ == Isa::Avx512; }
  int vector_lanes() const { return static_cast<int>(lanes(isa_)); }
  int vector_bytes() const { return 4 * vector_lanes(); }

  /// A whole vector; what is sliced off is only its type.
  Xbyak::Ymm vec(int64_t index) const {
    auto i = static_cast<int>(index);
    return is_wide() ? static_cast<Xbyak::Ymm>(Xbyak::Zmm(i)) : Xbyak::Ymm(i);
  }
  /// The least registers of a vector that hold so many lanes.
  Xbyak::Xmm part_of(const Xbyak::Ymm& vector, int lanes) const {
    if (lanes > 8) return vector;
    return lanes > 4 ? Xbyak::Ymm(vector.getIdx()) : Xbyak::Xmm(vector.getIdx());
  }
  void clear(const Xbyak::Ymm& v) {
    if (is_wide())
      vpxord(v, v, v);
    else
      vxorps(v, v, v);
  }

  /// AVX-512: the lowest lanes.
  void set_mask(const Xbyak::Opmask& mask, int lanes, const Xbyak::Reg64& scratch) {
    mov(scratch.cvt32(), (1 << lanes) - 1);
    kmovw(mask, scratch.cvt32());
  }

  /// What clamp() wants in a register.
  void begin_clamp(Clamp kind, const Xbyak::Ymm& zero, const Xbyak::Reg64& scratch) {
    // What becomes of each kind of number, four bits each: minus infinity and what is negative are
    // 0 (8), all others stay.
    constexpr uint32_t kRelu = 8U << 16 | 8U << 24;
    if (kind == Clamp::None) return;
    if (kind == Clamp::Relu6 || !is_wide()) return clear(zero);
    mov(scratch.cvt32(), kRelu);
    vpbroadcastd(zero, scratch.cvt32());
  }
  /// relu by a comparison that calls a NaN neither less nor invalid: the processor's flags stay
  /// down. With AVX-512 by the instruction that repairs kinds of numbers, in a third of the time of
  /// a comparison and a move by mask. relu6 would need two of those, and takes a third of what it
  /// does to the results; so it raises a flag where there is a NaN, which passes as the second
  /// operand.
  void clamp(Clamp kind, const Xbyak::Ymm& value, const Xbyak::Ymm& zero, const Xbyak::Ymm& spare,
             const Xbyak::Ymm& six) {
    constexpr uint8_t kIsLess = 0x11, kNoFlags = 0; // LT_OQ
    if (kind == Clamp::None) return;
    if (kind == Clamp::Relu6) {
      vmaxps(value, zero, value);
      return vminps(value, six, value);
    }
    if (is_wide()) return vfixupimmps(value, value, zero, kNoFlags);
    vcmpps(spare, value, zero, kIsLess);
    vandnps(value, spare, value);
  }

  /// The lowest lanes, which are all or those of the mask. With AVX2 in pieces: a store with a mask
  /// is slow there on Zen. Those above them take their place.
  void store_lanes(const Xbyak::RegExp& at, const Xbyak::Ymm& value, int lanes,
                   const Xbyak::Opmask& mask) {
    if (lanes == vector_lanes()) return vmovups(ptr[at], value);
    if (is_wide()) return vmovups(ptr[at] | mask, value);
    Xbyak::Xmm low(value.getIdx());
    if (lanes & 4) {
      vmovups(ptr[at], low);
      if (lanes & 3) vextractf128(low, value, 1);
    }
    if (lanes & 2) {
      vmovlps(ptr[at + 4 * (lanes & 4)], low);
      if (lanes & 1) vmovhlps(low, low, low);
    }
    if (lanes & 1) vmovss(ptr[at + 4 * (lanes & 6)], low);
  }

  const Isa isa_;
};

} // namespace tg::tile
