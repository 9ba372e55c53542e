// Open sizes of ONNX files: dimensions of inputs that the file names (`dim_param`) or leaves
// unnamed. The file is read at any sizes in their ranges.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/ir/open_graph.h"

namespace tg {

/// Removes the sizes that do not apply to the file, and returns their kinds and names: "an input
/// `x`". Without a file, none
/// applies.
std::vector<std::string> leave_out_sizes(const onnx::ModelFile* file, onnx::ImportOptions& sizes);

/// Returns the sizes of inputs that neither the file nor the options fix, with the ranges of the
/// options, or 1 and more. The sample of a first dimension is 1, of others 64, or the nearest size
/// of the range. Errors: those of onnx::input_dims; `not_constant` for an input of unknown rank;
/// `usage` for an empty range.
Result<std::vector<OpenSize>> onnx_open_sizes(const onnx::ModelFile& file,
                                              const onnx::ImportOptions& options);

/// Fixes the sizes in the options. Only numbers are folded, so that graphs at several sizes have
/// one structure.
void set_onnx_sizes(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<int64_t> point,
                    onnx::ImportOptions& options);

/// Fixes the sizes that follow from tensors for the inputs. Errors: `bad_input_value` for sizes
/// that contradict each other, the file or a range.
Result<void> add_onnx_input_sizes(const onnx::ModelFile& file, llvm::ArrayRef<OpenSize> sizes,
                                  llvm::ArrayRef<InputTensor> inputs, onnx::ImportOptions& options);

} // namespace tg
