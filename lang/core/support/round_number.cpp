#include "lang/core/support/round_number.h"

#include <llvm/ADT/APFloat.h>

#include <charconv>
#include <cmath>

namespace tg {

double round_number(double x, DType dtype) {
  if (dtype == DType::F32) return static_cast<float>(x);
  if (dtype != DType::F16 && dtype != DType::BF16) return x;
  bool lost = false;
  llvm::APFloat number(x);
  number.convert(dtype == DType::F16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                 llvm::APFloat::rmNearestTiesToEven, &lost);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

double shortest_number(double x, DType dtype) {
  bool narrow = dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  if (!narrow || !std::isfinite(x) || x == 0) return x;
  double wanted = round_number(x, dtype);
  for (int digits = 1; digits <= 9; ++digits) {
    char text[32];
    char* end = std::to_chars(text, text + sizeof text, wanted, std::chars_format::scientific,
                              digits - 1)
                    .ptr;
    double number = wanted;
    std::from_chars(text, end, number);
    if (round_number(number, dtype) == wanted) return number;
  }
  return x;
}

} // namespace tg
