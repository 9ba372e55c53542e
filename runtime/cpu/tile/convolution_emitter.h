// Shared by the emitters of convolutions. Only for files that emit code: it includes Xbyak.
//
// One emitter serves AVX2 and AVX-512, which differ only in lanes, registers and masks.
// With AVX-512, existing lanes are bits of a mask register, set once at the start of the code;
// with AVX2 they are words in memory, whose address is in the call.
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

  /// From now on the pages can be executed but not written.
  bool seal() { return Xbyak::GetError() == 0 && setProtectModeRE(false); }
  /// Returns the function emitted at this offset.
  template <class Fn> Fn function(size_t start) const {
    return reinterpret_cast<Fn>(reinterpret_cast<uintptr_t>(getCode()) + start);
  }

protected:
  /// Emits `rows` for each plane of the kernel, as many as the call says.
  /// `rows` leaves x and w after the last row that it has read.
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

  /// Returns a whole vector; the conversion loses only its static type.
  Xbyak::Ymm vec(int64_t index) const {
    auto i = static_cast<int>(index);
    return is_wide() ? static_cast<Xbyak::Ymm>(Xbyak::Zmm(i)) : Xbyak::Ymm(i);
  }
  /// Returns the smallest register of a vector that holds this number of lanes.
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

  /// AVX-512: sets the mask to the lowest lanes.
  void set_mask(const Xbyak::Opmask& mask, int lanes, const Xbyak::Reg64& scratch) {
    mov(scratch.cvt32(), (1 << lanes) - 1);
    kmovw(mask, scratch.cvt32());
  }

  /// Loads the register that clamp() needs.
  void begin_clamp(Clamp kind, const Xbyak::Ymm& zero, const Xbyak::Reg64& scratch) {
    // The result for each kind of number, four bits each: minus infinity and negative numbers
    // become 0 (8), all others are unchanged.
    constexpr uint32_t kRelu = 8U << 16 | 8U << 24;
    if (kind == Clamp::None) return;
    if (kind == Clamp::Relu6 || !is_wide()) return clear(zero);
    mov(scratch.cvt32(), kRelu);
    vpbroadcastd(zero, scratch.cvt32());
  }
  /// Applies relu by a comparison for which a NaN is neither less nor invalid,
  /// so that the processor's flags stay clear. With AVX-512 it uses the instruction
  /// that fixes up special numbers, in a third of the time of a comparison and a masked move.
  /// relu6 would need two of those instructions and then take a third of the total work on results;
  /// so it uses min and max and raises a flag for a NaN, which is kept as the second operand.
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

  /// Stores the lowest lanes, which are all lanes or those of the mask.
  /// With AVX2 it stores in pieces, because a masked store is slow on Zen.
  /// Higher lanes are then shifted down.
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
