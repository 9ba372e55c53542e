// Types of tensors and values of attributes over symbolic sizes.
//
// Of tensors of any rank, as operands of matmul and of what goes element by element, only the last
// two axes have names, or none where there are no products; the axes before them are `packed`: they
// broadcast as a whole, in each operator alike. A tensor with more names than these is none of
// them.
#pragma once

#include "compiler/verify/proof/facts.h"
#include "compiler/verify/proof/symbolic/sums.h"

namespace tg::proof {

struct Tensor {
  bool none = false;
  bool packed = false;
  Poly extra = 0; // packed: how many axes come before the named ones
  /// Packed: how many elements the axes before the named ones have, where that has a name.
  std::optional<Poly> count = {};
  std::vector<Poly> dims;
  Poly rank() const { return Poly(static_cast<int64_t>(dims.size())) + extra; }
};

/// The value of an attribute or an expression.
struct Attr {
  enum class Kind : uint8_t { Int, Ints, Text, Bool, Number, Shape };
  Kind kind{};
  Poly n;
  std::vector<Poly> ns; // Ints; Shape: a type's dimensions
  std::string text;     // Text: a member of an enumeration
  bool truth = false;
  Value number;
  static Attr of(const Poly& n) { return {Kind::Int, n, {}, "", false, {}}; }
  static Attr of(std::vector<Poly> ns) { return {Kind::Ints, 0, std::move(ns), "", false, {}}; }
  static Attr member(std::string text) { return {Kind::Text, 0, {}, std::move(text), false, {}}; }
  static Attr of_number(Value number) {
    return {Kind::Number, 0, {}, "", false, std::move(number)};
  }
  /// Whichever member the value variable stands for.
  static Attr any_member(uint32_t v) { return member("any:" + std::to_string(v)); }
  bool any() const { return kind == Kind::Text && llvm::StringRef(text).startswith("any:"); }
};

Tensor fresh_tensor(Arith& arith, size_t rank);
/// The axis with this number, among those that have names.
std::optional<size_t> axis(Facts& facts, const Poly& number, const Tensor& type);
/// Those of a list, each once; anything where the case has ended.
std::vector<size_t> axes(Facts& facts, const Attr& list, const Tensor& type);
/// Two types that the engine wants alike. Axes without names may make up for those that one lacks.
void must_be_as_many(Facts& facts, const Tensor& a, const Tensor& b);

} // namespace tg::proof
