// Kernels of operators that programs declare (`extern op`). The embedding program registers them;
// they are looked up by name and declared type. Every backend runs them on the host over row-major
// memory.
#pragma once

#include "lang/core/type.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace tg {

/// The elements of one tensor, row-major and in its dtype.
struct ExternOperand {
  const TensorType* type = nullptr;
  const std::byte* data = nullptr;
};

/// Writes the whole result, which must be a function of the operands alone.
/// The kernel must not throw, must not keep the pointers, and must be thread-safe:
/// two executables may call it concurrently.
using ExternKernel = std::function<void(llvm::ArrayRef<ExternOperand> operands,
                                        const TensorType& type, std::byte* result)>;

class ExternKernels {
public:
  /// `signature` has the format of the operator's attribute (lang/core/extern_signature.h).
  void add(std::string name, std::string signature, ExternKernel kernel) {
    kernels_[{std::move(name), std::move(signature)}] = std::move(kernel);
  }
  /// Returns null if there is none.
  const ExternKernel* find(const std::string& name, const std::string& signature) const {
    auto at = kernels_.find({name, signature});
    return at == kernels_.end() ? nullptr : &at->second;
  }
  /// Returns true if the name has a kernel for any type.
  bool has_name(const std::string& name) const {
    auto at = kernels_.lower_bound({name, ""});
    return at != kernels_.end() && at->first.first == name;
  }

private:
  std::map<std::pair<std::string, std::string>, ExternKernel> kernels_;
};

} // namespace tg
