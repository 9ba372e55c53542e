#include "compiler/verify/counterexample/extended.h"

#include "lang/core/semantics/impl.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tg {

Extended Math<Extended>::literal(double value) {
  if (!std::isfinite(value)) return value;
  char text[64];
  auto end = std::to_chars(text, text + sizeof text - 1, value, std::chars_format::scientific);
  *end.ptr = 0;
  return std::strtold(text, nullptr);
}

Extended Math<Extended>::select(Extended condition, Extended x, Extended y) {
  return condition != 0 ? x : y;
}

Extended Math<Extended>::cast(DType to, Extended x) {
  if (to == DType::Bool) return x != 0;
  return is_integer(to) ? Math<double>::cast(to, static_cast<double>(std::trunc(x))) : x;
}

template void evaluate_op<Extended>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Extended>>,
                                    View<Extended>, llvm::MutableArrayRef<Extended>);

} // namespace tg
