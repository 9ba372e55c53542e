// Activations as instructions of simd.h.
#pragma once

#include "lang/core/op.h"
#include "runtime/cpu/simd/simd.h"

namespace tg::cpu {

inline Instr instr_of(Act act) {
  switch (act) {
  case Act::None: break;
  case Act::Relu: return Instr::Relu;
  case Act::Tanh: return Instr::Tanh;
  case Act::Sigmoid: return Instr::Sigmoid;
  case Act::Gelu: return Instr::Gelu;
  case Act::Relu6: return Instr::Relu6;
  }
  return Instr::Copy;
}

} // namespace tg::cpu
