// Rules of matrix products, and of the bias, residual and activation of products and convolutions.
#include "lang/core/shapes/inference.h"

namespace tg::shapes {

bool bias_fits(const Inference& in, int64_t channels) {
  const TensorType& bias = in.type(2);
  if (bias.is_none() || (bias.rank() == 1 && bias[0] == channels)) return true;
  return in.fail("the bias must be {0}, got {1}", TensorType{in.result.dtype, Shape{channels}},
                 bias);
}

namespace {

/// The activation of an integer product must accept integers.
bool act_fits(const Inference& in, size_t slot) {
  std::optional<OpKind> op = act_op(parse_act(in.attr(slot).text).value_or(Act::None));
  if (!op || dtype_fits(op_info(*op), in.result.dtype)) return true;
  return in.fail("{0} requires floats, got {1}", op_info(*op).name, in.result);
}

} // namespace

bool epilogue(const Inference& in, int64_t channels) {
  if (!act_fits(in, in.info.attr_count - 1)) return false;
  const TensorType& residual = in.type(3);
  if (!bias_fits(in, channels)) return false;
  if (!residual.is_none() && !(residual == in.result))
    return in.fail("the residual must be {0}, got {1}", in.result, residual);
  return true;
}

bool matmul(Inference& in) {
  const TensorType &x = in.type(0), &y = in.type(1);
  if (x.rank() < 2 || y.rank() < 2)
    return in.fail("matmul requires two or more dimensions, got {0} and {1}", x, y);
  int64_t m = x.shape[x.rank() - 2], k = x.shape.back(), l = y.shape[y.rank() - 2],
          n = y.shape.back();
  if (k != l) return in.fail("inner dimensions differ: {0} and {1}", k, l);
  llvm::ArrayRef<int64_t> batch_x = llvm::ArrayRef<int64_t>(x.shape).drop_back(2);
  llvm::ArrayRef<int64_t> batch_y = llvm::ArrayRef<int64_t>(y.shape).drop_back(2);
  in.result.dtype = x.dtype;
  if (!broadcast_shapes(batch_x, batch_y, in.result.shape))
    return in.fail("batch dimensions {0} and {1} do not broadcast", batch_x, batch_y);
  in.result.shape.append({m, n});
  return epilogue(in, n);
}

namespace {

/// All operands must have the same dtype, except `seen`, which is a condition.
bool attention_dtypes_fit(const Inference& in) {
  DType dtype = in.type(0).dtype;
  for (size_t i : {0, 1, 2, 3}) {
    const TensorType& type = in.type(i);
    if (type.is_none()) continue;
    if (!dtype_fits(in.info, type.dtype))
      return in.fail("attention requires floats, got {0}", type);
    if (type.dtype != dtype)
      return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(type.dtype));
  }
  const TensorType& seen = in.type(4);
  if (seen.is_none() || seen.dtype == DType::Bool) return true;
  return in.fail("`seen` of attention must be bool, got {0}", seen);
}

/// The mask and the visibility condition must broadcast to the scores;
/// their leading dimensions broadcast with those of the other operands.
bool mask_fits(const Inference& in, size_t operand, Shape& batch) {
  const TensorType& mask = in.type(operand);
  if (mask.is_none()) return true;
  Shape scores = batch, all;
  scores.append({in.type(0).shape.end()[-2], in.type(1).shape.back()});
  if (!broadcast_shapes(mask.shape, scores, all) ||
      llvm::makeArrayRef(all).take_back(2) != llvm::makeArrayRef(scores).take_back(2))
    return in.fail("`{0}` {1} does not broadcast to the scores {2}",
                   in.info.operands()[operand].name, mask, scores);
  batch.assign(all.begin(), all.end() - 2);
  return true;
}

} // namespace

bool attention(Inference& in) {
  const TensorType &q = in.type(0), &keys = in.type(1), &values = in.type(2);
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
  Shape batch, scores;
  auto leading = [](const TensorType& t) { return llvm::makeArrayRef(t.shape).drop_back(2); };
  if (!broadcast_shapes(leading(q), leading(keys), scores) ||
      !broadcast_shapes(scores, leading(values), batch))
    return in.fail("batch dimensions {0}, {1} and {2} do not broadcast", leading(q), leading(keys),
                   leading(values));
  if (!mask_fits(in, 3, batch) || !mask_fits(in, 4, batch)) return false;
  in.result.dtype = q.dtype;
  in.result.shape = batch;
  in.result.shape.append({q.shape.end()[-2], values.shape.back()});
  return true;
}

} // namespace tg::shapes
