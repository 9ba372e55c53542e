// The definition of every operator: the dispatch over the operator families in this folder.
// Loops are ordered so that the innermost one runs along memory without dependencies:
// simple, but fast enough for whole networks. Included only by libraries that instantiate
// evaluate_op over a scalar.
#pragma once

#include "lang/core/semantics/boxes.h"
#include "lang/core/semantics/layout.h"
#include "lang/core/semantics/resize.h"
#include "lang/core/semantics/rows.h"
#include "lang/core/semantics/winograd.h"

namespace tg {

namespace semantics {

/// Operators that the program declares (`extern op`): an unknown function of all elements
/// of all operands. Scalars of tests may omit Math::External and then cannot evaluate these
/// operators.
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
    assert(false && "this scalar type has no uninterpreted functions");
  }
}

} // namespace semantics

template <class T>
void evaluate_fused(const FusedBody& body, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                    llvm::MutableArrayRef<WideOf<T>> scratch) {
  semantics::Rows rows(result.shape, semantics::shapes_of(operands));
  rows.for_each([&](int64_t start) {
    for (int64_t i = 0; i < rows.length(); i += kFusedBlock)
      semantics::fused_block(body, operands, rows, i, std::min(kFusedBlock, rows.length() - i),
                             scratch.data(), result.data + start + i);
  });
}

namespace semantics {

TG_MEANING(Cast) {
  DType to = *parse_dtype(in.attrs[0]->text);
  map(in.x(), in.result, [&](const WideOf<T>& x) { return Math<WideOf<T>>::cast(to, x); });
}
TG_MEANING(Extern) { external(in.attrs, in.operands, in.result); }
TG_MEANING(FusedMap) {
  std::optional<FusedBody> body = parse_fused_body(in.attrs[0]->text);
  assert(body && "type inference parses the body");
  evaluate_fused(*body, in.operands, in.result, in.scratch);
}

/// Leaves and sugar are not evaluated.
template <OpKind kind, uint32_t traits, class T> void evaluate_row(const Application<T>& in) {
  if constexpr (traits & (Trait::Leaf | Trait::Sugar))
    assert(false && "leaves and sugar are not evaluated");
  else
    evaluate(Operator<kind>(), in);
}

} // namespace semantics

template <class T>
void evaluate_op(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                 llvm::MutableArrayRef<WideOf<T>> scratch) {
  semantics::Application<T> in{attrs, operands, result, scratch};
  switch (op) {
#define TG_OP(kind, name, operands, attrs, shape, traits, ...)                                     \
  case OpKind::kind:                                                                               \
    return semantics::evaluate_row<OpKind::kind, traits>(in);
#define TG_POINTWISE(kind, ...)                                                                    \
  case OpKind::kind:                                                                               \
    return semantics::elementwise(op, attrs, operands, result);
#include "lang/core/ops.def"
  }
}

} // namespace tg
