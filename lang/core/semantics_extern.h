// Operators that the program declares (`extern op`): some function of all elements of all operands,
// of which nothing else is known. Included through semantics_impl.h.
#pragma once

#include "lang/core/semantics_walk.h"

namespace tg {

namespace semantics {

/// Scalars of tests may leave Math::External out; they then evaluate no such operator.
template <class T>
void external(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  using W = WideOf<T>;
  if constexpr (requires { typename Math<W>::External; }) {
    typename Math<W>::External function(attrs[0]->text, attrs[1]->text);
    for (const ConstView<T>& operand : operands) {
      function.shape(operand.shape);
      for (int64_t i = 0, count = operand.elements(); i < count; ++i)
        function.element(static_cast<W>(operand.data[i]));
    }
    for (int64_t i = 0, count = result.elements(); i < count; ++i)
      result.data[i] = static_cast<T>(function.at(i));
  } else {
    assert(false && "this scalar has no function that nothing is known of");
  }
}

} // namespace semantics

} // namespace tg
