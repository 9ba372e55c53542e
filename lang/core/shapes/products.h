// Rules of matrix products, and of the bias, residual and activation of products and convolutions.
#pragma once

#include "lang/core/shapes/inference.h"

namespace tg::shapes {

/// The bias, operand 2, of so many channels.
template <class In> bool bias_fits(const In& in, const typename In::Int& channels) {
  const auto& bias = in.type(2);
  if (bias.is_none() || (bias.rank() == 1 && bias[0] == channels)) return true;
  return in.fail("the bias must be {0}, got {1}", typename In::Type{in.result.dtype, {channels}},
                 bias);
}

/// The activation of an integer product must accept integers.
template <class In> bool act_fits(const In& in, size_t slot) {
  std::optional<OpKind> op = act_op(parse_act(in.attr(slot).text).value_or(Act::None));
  if (!op || dtype_fits(op_info(*op), in.result.dtype)) return true;
  return in.fail("{0} requires floats, got {1}", op_info(*op).name, in.result);
}

/// Checks the activation, bias and residual of products: the last attribute and operands 2 and 3.
template <class In> bool epilogue(const In& in, const typename In::Int& channels) {
  if (!act_fits(in, in.info.attr_count - 1)) return false;
  const auto& residual = in.type(3);
  if (!bias_fits(in, channels)) return false;
  if (!residual.is_none() && !(residual == in.result))
    return in.fail("the residual must be {0}, got {1}", in.result, residual);
  return true;
}

template <class In> bool matmul(In& in) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  const auto &x = in.type(0), &y = in.type(1);
  if (x.rank() < 2 || y.rank() < 2)
    return in.fail("matmul requires two or more dimensions, got {0} and {1}", x, y);
  typename In::Int m = x.shape[x.rank() - 2], k = x.shape.back(), l = y.shape[y.rank() - 2],
                   n = y.shape.back();
  if (k != l) return in.fail("inner dimensions differ: {0} and {1}", k, l);
  Ints batch_x = Ints(x.shape).drop_back(2), batch_y = Ints(y.shape).drop_back(2);
  in.result.dtype = x.dtype;
  if (!broadcast_together(batch_x, batch_y, in.result.shape))
    return in.fail("batch dimensions {0} and {1} do not broadcast", batch_x, batch_y);
  in.result.shape.append({m, n});
  return epilogue(in, n);
}

/// All operands must have the same dtype, except `seen`, which is a condition.
template <class In> bool attention_dtypes_fit(const In& in) {
  DType dtype = in.type(0).dtype;
  for (size_t i : {0, 1, 2, 3}) {
    const auto& type = in.type(i);
    if (type.is_none()) continue;
    if (!dtype_fits(in.info, type.dtype))
      return in.fail("attention requires floats, got {0}", type);
    if (type.dtype != dtype)
      return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(type.dtype));
  }
  const auto& seen = in.type(4);
  if (seen.is_none() || seen.dtype == DType::Bool) return true;
  return in.fail("`seen` of attention must be bool, got {0}", seen);
}

/// The mask and the visibility condition must broadcast to the scores;
/// their leading dimensions broadcast with those of the other operands.
template <class In> bool mask_fits(const In& in, size_t operand, typename In::Shape& batch) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  const auto& mask = in.type(operand);
  if (mask.is_none()) return true;
  typename In::Shape scores = batch, all;
  scores.append({in.type(0).shape.end()[-2], in.type(1).shape.back()});
  if (!broadcast_together(Ints(mask.shape), Ints(scores), all) ||
      Ints(all).take_back(2) != Ints(scores).take_back(2))
    return in.fail("`{0}` {1} does not broadcast to the scores {2}",
                   in.info.operands()[operand].name, mask, scores);
  batch.assign(all.begin(), all.end() - 2);
  return true;
}

template <class In> bool attention(In& in) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  const auto &q = in.type(0), &keys = in.type(1), &values = in.type(2);
  if (q.rank() < 2 || keys.rank() < 2 || values.rank() < 2)
    return in.fail("attention requires two or more dimensions, got {0}, {1} and {2}", q, keys,
                   values);
  if (!attention_dtypes_fit(in)) return false;
  if (q.shape.back() != keys.shape.end()[-2])
    return in.fail("the queries have width {0}, but the keys[.., width, places] have width {1}",
                   q.shape.back(), keys.shape.end()[-2]);
  if (keys.shape.back() != values.shape.end()[-2])
    return in.fail("there are {0} keys[.., width, places], but {1} values[.., places, width]",
                   keys.shape.back(), values.shape.end()[-2]);
  typename In::Shape batch, scores;
  auto leading = [](const auto& t) { return Ints(t.shape).drop_back(2); };
  if (!broadcast_together(leading(q), leading(keys), scores) ||
      !broadcast_together(Ints(scores), leading(values), batch))
    return in.fail("batch dimensions {0}, {1} and {2} do not broadcast", leading(q), leading(keys),
                   leading(values));
  if (!mask_fits(in, 3, batch) || !mask_fits(in, 4, batch)) return false;
  in.result.dtype = q.dtype;
  in.result.shape = batch;
  in.result.shape.append({q.shape.end()[-2], values.shape.back()});
  return true;
}

} // namespace tg::shapes
