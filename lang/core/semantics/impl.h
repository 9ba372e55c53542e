// Every operator by its definition: the dispatch over the families beside it. Loops there
// are ordered so that the innermost one runs along memory and carries no dependency: plain, yet
// quick enough to be run on whole networks. Included by the libraries that instantiate evaluate_op
// over a scalar, by nobody else.
#pragma once

#include "lang/core/semantics/boxes.h"
#include "lang/core/semantics/layout.h"
#include "lang/core/semantics/resize.h"
#include "lang/core/semantics/rows.h"
#include "lang/core/semantics/winograd.h"

namespace tg {

namespace semantics {

/// Operators that the program declares (`extern op`): some function of all elements of all
/// operands, of which nothing else is known. Scalars of tests may leave Math::External out; they
/// then evaluate no such operator.
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

// No default: the compiler names the operator that has a row in ops.def and no meaning here.
template <class T>
// NOLINTNEXTLINE(readability-function-size): a flat switch, one row an operator.
void evaluate_op(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                 llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  using namespace semantics;
  switch (op) {
  case OpKind::None:
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::Constant:
  case OpKind::Split: assert(false && "leaves and sugar are not evaluated"); return;
#define TG_OP(...)
#define TG_POINTWISE(kind, ...) case OpKind::kind:
#include "lang/core/ops.def"
    return elementwise(op, attrs, operands, result);
  case OpKind::Cast: {
    DType to = *parse_dtype(attrs[0]->text);
    return map(operands[0], result, [&](const W& x) { return Math<W>::cast(to, x); });
  }
  case OpKind::Matmul: return matmul(attrs, operands, result, scratch);
  case OpKind::Attention: return attention(attrs, operands, result, scratch);
  case OpKind::Conv2d: return conv2d(attrs, operands, result, scratch);
  case OpKind::WinogradWeight: return winograd_weight(attrs, operands[0], result);
  case OpKind::WinogradConv2d: return winograd_conv2d(attrs, operands, result, scratch);
  case OpKind::ConvTranspose2d: return conv_transpose2d(attrs, operands, result, scratch);
  case OpKind::Conv3d: return conv3d(attrs, operands, result, scratch);
  case OpKind::MaxPool2d: return max_pool2d(attrs, operands[0], result, scratch);
  case OpKind::AvgPool2d: return avg_pool2d(attrs, operands[0], result, scratch);
  case OpKind::Resize: return resize(attrs, operands[0], result);
  case OpKind::Softmax: return softmax(attrs, operands[0], result, scratch);
  case OpKind::BatchNorm: return batch_norm(attrs, operands, result);
  case OpKind::LayerNorm: return layer_norm(attrs, operands, result);
  case OpKind::ReduceSum:
    return reduce(attrs, operands[0], result, scratch, [](llvm::ArrayRef<W> v) { return sum(v); });
  case OpKind::ReduceMean:
    return reduce(attrs, operands[0], result, scratch, [](llvm::ArrayRef<W> v) {
      return sum(v) / Math<W>::integer(static_cast<int64_t>(v.size()));
    });
  case OpKind::ReduceMax:
    return reduce(attrs, operands[0], result, scratch,
                  [](llvm::ArrayRef<W> v) { return Math<W>::max_of(v); });
  case OpKind::ReduceMin:
    return reduce(attrs, operands[0], result, scratch,
                  [](llvm::ArrayRef<W> v) { return least(v); });
  case OpKind::ReduceProd:
    return reduce(attrs, operands[0], result, scratch,
                  [](llvm::ArrayRef<W> v) { return product_of(v); });
  case OpKind::Cumsum: return cumsum(attrs, operands[0], result);
  case OpKind::Argmax: return argmax(attrs, operands[0], result, scratch);
  case OpKind::TopK: return top_k(attrs, operands[0], result, scratch);
  case OpKind::Gather: return gather(attrs, operands[0], operands[1], result);
  case OpKind::Scatter: return scatter(attrs, operands, result, scratch);
  case OpKind::Broadcast: return broadcast_to(operands[0], result);
  case OpKind::NonMaxSuppression: return non_max_suppression(attrs, operands, result);
  case OpKind::Iota: return iota(attrs, result);
  case OpKind::Concat: return concat(attrs, operands, result);
  case OpKind::Slice: return slice(attrs, operands[0], result);
  case OpKind::Reshape: std::copy_n(operands[0].data, result.elements(), result.data); return;
  case OpKind::Transpose: return transpose(attrs, operands[0], result);
  case OpKind::Pad:
    return pad(attrs[0]->ints, static_cast<T>(number<W>(*attrs[2])), operands[0], result);
  case OpKind::Enlarge: return enlarge(operands[0], result);
  case OpKind::MergeGconv: return merge_gconv(attrs, operands[0], result);
  case OpKind::Extern: return external(attrs, operands, result);
  case OpKind::FusedMap: {
    std::optional<FusedBody> body = parse_fused_body(attrs[0]->text);
    assert(body && "infer admits no other body");
    return evaluate_fused(*body, operands, result, scratch);
  }
  }
}

} // namespace tg
