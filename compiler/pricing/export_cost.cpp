#include "compiler/pricing/export_cost.h"

namespace tg {

/// Time from one operator of ONNX Runtime 1.31 to the next, beyond that of this runtime: measured
/// on chains of reshapes and small sums with two threads.
constexpr double kStartUs = 1;

/// Returns the number of ONNX operators for the instance: a sum and an activation after a matrix
/// product are separate operators, which runtimes do not fuse with it.
static int operators_of(const Symbols& symbols, const OpInstance& instance) {
  if (instance.op != OpKind::Matmul) return 1;
  bool adds = !symbols.type(instance.operands[3]).is_none();
  return 1 + adds + (symbols.attr(instance.attrs, 0).text != "none");
}

double ExportCost::more_us(const Symbols& symbols, const OpInstance& instance) const {
  if (op_info(instance.op).has(Trait::Leaf)) return 0;
  if (instance.op != OpKind::Slice) return kStartUs * operators_of(symbols, instance);
  const TensorType& part = symbols.type(instance.result);
  bool of_channels = part.rank() == 4 && symbols.attr(instance.attrs, 0).number == 1;
  // Bytes are read and written; 1 GB/s is 1,000 bytes per microsecond.
  double bytes = 2.0 * static_cast<double>(part.elements() * dtype_size(part.dtype));
  return (of_channels ? 3 : 1) * (kStartUs + bytes / (device_.memory_gbs * 1e3));
}

} // namespace tg
