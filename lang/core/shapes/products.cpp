// Matrix products, and what products and convolutions do behind them: bias, residual, activation.
#include "lang/core/shapes/inference.h"

namespace tg::shapes {

bool bias_fits(const Inference& in, int64_t channels) {
  const TensorType& bias = in.type(2);
  if (bias.is_none() || (bias.rank() == 1 && bias[0] == channels)) return true;
  return in.fail("the bias must be {0}, got {1}", TensorType{in.result.dtype, Shape{channels}},
                 bias);
}

namespace {

/// The activation of a product of integers must be one on integers.
bool act_fits(const Inference& in, size_t slot) {
  std::optional<OpKind> op = act_op(parse_act(in.attr(slot).text).value_or(Act::None));
  if (!op || dtype_fits(op_info(*op), in.result.dtype)) return true;
  return in.fail("{0} takes floats, got {1}", op_info(*op).name, in.result);
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
    return in.fail("matmul needs two dimensions or more, got {0} and {1}", x, y);
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

} // namespace tg::shapes
