// Operations and bytes of an operator: the column `work` of ops.def.
#include "lang/core/fused_body.h"
#include "lang/core/resample.h"
#include "lang/core/shape_rules.h"

#include <algorithm>

namespace tg {

namespace {

double flops_of(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
                TypeId result) {
  double out = static_cast<double>(symbols.type(result).elements());
  switch (op_info(op).work) {
  case Work::none:
  case Work::copy: return 0;
  case Work::elements: // reductions read more than they write
    return op_info(op).flops *
           std::max(out, operands.empty()
                             ? 0.0
                             : static_cast<double>(symbols.type(operands[0]).elements()));
  case Work::formula: // of rows only
  case Work::transcendental: return op_info(op).flops * out;
  case Work::mnk2: return 2 * out * static_cast<double>(symbols.type(operands[0]).shape.back());
  case Work::attention: { // two products, and one exponential per score
    const TensorType &q = symbols.type(operands[0]), &keys = symbols.type(operands[1]);
    double values = static_cast<double>(symbols.type(result).shape.back());
    double scores = out / values * static_cast<double>(keys.shape.back());
    return scores * (2 * (static_cast<double>(q.shape.back()) + values) + kTranscendentalFlops);
  }
  case Work::conv: {
    const TensorType& w = symbols.type(operands[1]);
    return 2 * out * static_cast<double>(w.elements() / w[0]);
  }
  case Work::conv_transpose: {
    const TensorType &x = symbols.type(operands[0]), &w = symbols.type(operands[1]);
    return 2 * static_cast<double>(x.elements()) * static_cast<double>(w.elements() / w[0]);
  }
  case Work::winograd: // of the equivalent convolution, so that speeds compare
    return 2 * out * static_cast<double>(symbols.type(operands[1])[2] * 9);
  case Work::window: {
    const Value& kernel = symbols.attr(attrs, 0);
    return out * static_cast<double>(kernel.ints[0] * kernel.ints[1]);
  }
  case Work::resize: { // one axis after the other, at the size of the result
    llvm::SmallVector<const Value*, ResizeSlot::Count> values;
    for (ValueId value : symbols.attrs(attrs)) values.push_back(&symbols.value(value));
    Resize resize(values, symbols.type(operands[0]).shape);
    double taps = 0;
    for (const ResampledAxis& axis : resize.axes)
      if (double each = mean_taps(resize.how, axis); each > 1) taps += each;
    return 2 * out * taps;
  }
  case Work::fused: {
    std::optional<FusedBody> body = parse_fused_body(symbols.attr(attrs, 0).text);
    double flops = 0;
    for (const FusedInstr& instr : body->code)
      if (!instr.is_operand) flops += std::max(1.0, op_info(instr.op).flops);
    return flops * out;
  }
  }
  return 0;
}

} // namespace

OpWork op_work(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
               TypeId result) {
  OpWork work;
  work.flops = flops_of(symbols, op, attrs, operands, result);
  if (op_info(op).has(Trait::View)) return work; // moves nothing
  work.bytes = static_cast<double>(symbols.type(result).bytes());
  if (op == OpKind::Slice || op == OpKind::Gather) { // reads only the piece, or the indexed rows
    work.bytes *= 2;
    return work;
  }
  for (TypeId operand : operands) work.bytes += static_cast<double>(symbols.type(operand).bytes());
  return work;
}

} // namespace tg
