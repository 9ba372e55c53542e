// Kernels of operators that programs declare (`extern op`): given by who embeds the compiler, found
// by name and declared type, run on the host over row-major memory by every backend.
#pragma once

#include "lang/core/type.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace tg {

/// Row-major elements of one tensor, in its dtype.
struct ExternOperand {
  const TensorType* type = nullptr;
  const std::byte* data = nullptr;
};

/// Writes the whole result, a function of the operands alone. It must not throw, keep the pointers,
/// or be surprised by two executables that call it from two threads.
using ExternKernel = std::function<void(llvm::ArrayRef<ExternOperand> operands,
                                        const TensorType& type, std::byte* result)>;

class ExternKernels {
public:
  /// `signature` as in the attribute of the operator (lang/core/extern_signature.h).
  void add(std::string name, std::string signature, ExternKernel kernel) {
    kernels_[{std::move(name), std::move(signature)}] = std::move(kernel);
  }
  /// Null where there is none.
  const ExternKernel* find(const std::string& name, const std::string& signature) const {
    auto at = kernels_.find({name, signature});
    return at == kernels_.end() ? nullptr : &at->second;
  }
  /// Whether the name has a kernel under any type.
  bool has_name(const std::string& name) const {
    auto at = kernels_.lower_bound({name, ""});
    return at != kernels_.end() && at->first.first == name;
  }

private:
  std::map<std::pair<std::string, std::string>, ExternKernel> kernels_;
};

} // namespace tg
