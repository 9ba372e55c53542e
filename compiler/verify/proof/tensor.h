// Types of tensors and values of attributes over symbolic sizes.
//
// A tensor of any rank, as an operand of matmul or of element-by-element operators, has names only
// for its last two axes, or for none if there are no products. The axes before them are `packed`:
// they broadcast as a whole, in the same way in each operator. A tensor with more named axes than
// these is not packed.
#pragma once

#include "compiler/verify/proof/facts.h"
#include "compiler/verify/proof/symbolic/sums.h"

namespace tg::proof {

struct Tensor {
  bool none = false;
  bool packed = false;
  Poly extra = 0; // packed: number of axes before the named ones
  /// Packed: number of elements of the axes before the named ones, if it has a name.
  std::optional<Poly> count = {};
  std::vector<Poly> dims;
  Poly rank() const { return Poly(static_cast<int64_t>(dims.size())) + extra; }
};

/// The value of an attribute or an expression.
struct Attr {
  enum class Kind : uint8_t { Int, Ints, Text, Bool, Number, Shape };
  Kind kind{};
  Poly n;
  std::vector<Poly> ns; // Ints; for Shape, the dimensions of a type
  std::string text;     // Text: an enumerator
  bool truth = false;
  Value number;
  static Attr of(const Poly& n) { return {Kind::Int, n, {}, "", false, {}}; }
  static Attr of(std::vector<Poly> ns) { return {Kind::Ints, 0, std::move(ns), "", false, {}}; }
  static Attr member(std::string text) { return {Kind::Text, 0, {}, std::move(text), false, {}}; }
  static Attr of_number(Value number) {
    return {Kind::Number, 0, {}, "", false, std::move(number)};
  }
  /// An arbitrary enumerator, the value of a value variable.
  static Attr any_member(uint32_t v) { return member("any:" + std::to_string(v)); }
  bool any() const { return kind == Kind::Text && llvm::StringRef(text).startswith("any:"); }
};

Tensor fresh_tensor(Arith& arith, size_t rank);
/// Returns the axis with this number, among the named ones.
std::optional<size_t> axis(Facts& facts, const Poly& number, const Tensor& type);
/// Returns the axes of a list, each once; any value if the case has ended.
std::vector<size_t> axes(Facts& facts, const Attr& list, const Tensor& type);
/// Requires two types to be equal. Unnamed axes may make up for axes that one of them lacks.
void must_be_as_many(Facts& facts, const Tensor& a, const Tensor& b);

} // namespace tg::proof
