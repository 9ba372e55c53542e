// The sizes of a file's inputs: numbers, and sizes that the file leaves open by a name
// (`dim_param`) or without one. Options fix an open size.
#pragma once

#include "compiler/import/onnx/read/import.h"

namespace tg::onnx {

/// A size of the inputs that neither the file nor the options fix.
struct OpenDim {
  std::string symbol; // the key of ImportOptions::dims; generated for an unnamed size
  std::string name;   // the symbol as an identifier of the language that no input has
  std::string place;  // "`batch` of `x`", "size 2 of `x`"
  int64_t axis = 0;
};

/// A dimension of an input as a sum of products of numbers and sizes: 3, `batch`, `past + 1`.
struct InputDim {
  struct Product {
    int64_t factor = 1;
    std::vector<std::string> symbols = {};
  };
  std::vector<Product> sum;
  std::string place;

  /// Returns the symbol if the dimension is an open size alone, else "".
  llvm::StringRef symbol() const;
  /// Returns nullopt if a symbol has no value.
  std::optional<int64_t> value(const std::map<std::string, int64_t>& sizes) const;
};

struct InputDims {
  /// By input. Absent for an input whose rank neither file nor options give.
  std::map<std::string, std::vector<InputDim>> inputs;
  /// Values of symbols by the options.
  std::map<std::string, int64_t> fixed;
  /// In the order of the inputs.
  std::vector<OpenDim> open;
  /// Inputs of unknown rank.
  std::vector<std::string> unranked;
};

/// Reads the dimensions of the inputs. Dimensions with equal `dim_param` are one size, and a
/// `dim_param` such as `past + 1` is an expression if its words are sizes of other dimensions.
/// Errors: `usage` for an option that matches nothing in the file or contradicts it.
Result<InputDims> input_dims(const ModelFile& file, const ImportOptions& options);

/// Returns the names by which options can name sizes of the inputs.
std::vector<std::string> dim_names(const ModelFile& file, const ImportOptions& options);

} // namespace tg::onnx
