#include "lang/core/support/round_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace tg {

namespace {

/// Returns true if a double is an i64 to which its neighbours are rounded as well.
bool is_large_integer(double x) { return std::abs(x) > 0x1p53 && x >= -0x1p63 && x < 0x1p63; }

} // namespace

Value normal_number(const Value& number, DType dtype) {
  bool wide = dtype == DType::I64 || dtype == DType::None;
  if (number.is(Value::Kind::Int) && !(wide && !is_exact_in_double(number.number)))
    return Value::of_float(static_cast<double>(number.number));
  if (number.is(Value::Kind::Float) && dtype == DType::I64 && is_large_integer(number.real))
    return Value::of_int(static_cast<int64_t>(number.real));
  return number;
}

Value normal_numbers(const Value& numbers, DType dtype) {
  bool wide = dtype == DType::I64 || dtype == DType::None;
  if (numbers.is(Value::Kind::Ints)) {
    if (wide && !llvm::all_of(numbers.ints, is_exact_in_double)) return numbers;
    return Value::of_floats(std::vector<double>(numbers.ints.begin(), numbers.ints.end()));
  }
  auto fits = [](double x) { return x >= -0x1p63 && x < 0x1p63 && x == std::trunc(x); };
  bool large = dtype == DType::I64 && llvm::any_of(numbers.reals, is_large_integer);
  if (!large || !llvm::all_of(numbers.reals, fits)) return numbers;
  llvm::SmallVector<int64_t, 4> wholes;
  for (double x : numbers.reals) wholes.push_back(static_cast<int64_t>(x));
  return Value::of_ints(wholes);
}

double round_number(double x, DType dtype) {
  if (dtype == DType::F32) return static_cast<double>(static_cast<float>(x));
  bool half = dtype == DType::F16;
  if (!std::isfinite(x) || x == 0 || (!half && dtype != DType::BF16)) return x;
  int digits = half ? 11 : 8, least = half ? -14 : -126; // of the significand; of a normal number
  int exponent = std::max(std::ilogb(x), least);
  double quantum = std::ldexp(1.0, exponent - digits + 1);
  double rounded = std::nearbyint(x / quantum) * quantum; // exact except for the rounding itself
  double beyond = half ? 0x1p16 : 0x1p128;
  return std::abs(rounded) >= beyond ? std::copysign(INFINITY, x) : rounded;
}

double shortest_number(double x, llvm::function_ref<bool(double)> alike) {
  for (int digits = 1; digits <= 9; ++digits) {
    char text[32];
    char* end =
        std::to_chars(text, std::end(text), x, std::chars_format::scientific, digits - 1).ptr;
    double number = x;
    std::from_chars(text, end, number);
    if (alike(number)) return number;
  }
  return x;
}

double shortest_number(double x, DType dtype) {
  bool narrow = dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  if (!narrow || !std::isfinite(x) || x == 0) return x;
  double held = round_number(x, dtype);
  return shortest_number(held, [&](double number) { return round_number(number, dtype) == held; });
}

} // namespace tg
