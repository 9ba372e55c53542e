// What emitters of convolutions share. Only for files that emit code: it includes Xbyak.
#pragma once

#include "runtime/tile/convolution.h"

#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include <cstddef>

namespace tg::tile {

class ConvolutionEmitter : public Xbyak::CodeGenerator {
public:
  explicit ConvolutionEmitter(size_t bytes) : CodeGenerator(bytes, Xbyak::DontSetProtectRWE) {}

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

  /// relu by a comparison that calls a NaN neither less nor invalid: the processor's flags stay
  /// down. relu6 would need two of those, and takes a third of what it does to the results; so it
  /// raises a flag where there is a NaN, which passes as the second operand.
  void clamp(Clamp kind, const Xbyak::Ymm& value, const Xbyak::Ymm& zero, const Xbyak::Ymm& spare,
             const Xbyak::Ymm& six) {
    constexpr uint8_t kIsLess = 0x11; // LT_OQ
    if (kind == Clamp::None) return;
    if (kind == Clamp::Relu6) {
      vmaxps(value, zero, value);
      return vminps(value, six, value);
    }
    vcmpps(spare, value, zero, kIsLess);
    vandnps(value, spare, value);
  }

  /// The lowest lanes, in pieces: a store with a mask is slow on Zen. Those above them take their
  /// place.
  void store_lanes(const Xbyak::RegExp& at, const Xbyak::Ymm& value, int lanes) {
    if (lanes == 8) return vmovups(ptr[at], value);
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
};

} // namespace tg::tile
