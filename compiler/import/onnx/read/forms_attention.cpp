#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

llvm::ArrayRef<Form> attention_forms() { return {}; }

} // namespace tg::onnx
