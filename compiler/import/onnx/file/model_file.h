// An open ONNX file: the network as protobuf messages without the elements of large tensors, which
// remain in the mapped file until they are read.
//
// Protobuf copies its input and is limited to 2 GB, so a scan of the wire format comes first. It
// walks model, graph, nodes, attributes and tensors by their field numbers, removes long `raw_data`
// from tensors, and records its place (Tensor.place_begin, place_end). The remaining bytes are few
// and are parsed by protobuf. External data is mapped per file on first use. Its path must not
// leave the model's folder, by name or by link.
//
// The contents of a file are not trusted: lengths must fit in the enclosing message, nesting is
// limited, products of sizes are checked for overflow, and a tensor must have as many bytes as its
// type requires.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "lang/core/result.h"
#include "lang/core/type.h"

#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <vector>

namespace tg::onnx {

/// Row-major little-endian elements of a tensor, within a mapped file or owned.
struct Elements {
  llvm::StringRef bytes;
  /// Owns the memory of `bytes` if the file has another form. The memory does not move with the
  /// struct.
  std::unique_ptr<char[]> owned;
};

/// Returns the name in the specification: "float", "uint8", "float8e4m3fn", …; "type 99" for an
/// unknown type.
std::string element_type_name(int32_t data_type);
/// Returns the dtype of the elements. Errors: `unsupported` if Tangram lacks it.
Result<DType> dtype_of(int32_t data_type);
/// Returns the dtype that carries integers of a type that Tangram lacks: i32 for up to 16 bits, i64
/// for uint32 and, as the same bits, for uint64. None for all other types.
DType carrier_of(int32_t data_type);

class ModelFile {
public:
  /// Opens a file. Errors: `cannot_read`, `empty_file`, `bad_data_file`.
  static Result<std::shared_ptr<const ModelFile>> open(llvm::StringRef path);
  /// Parses a file in memory. External data is read from `folder`; it is rejected if
  /// `folder` is empty.
  static Result<std::shared_ptr<const ModelFile>> parse(std::unique_ptr<llvm::MemoryBuffer> file,
                                                        llvm::StringRef name,
                                                        llvm::StringRef folder = "");

  const schema::Model& model() const;
  llvm::StringRef file_name() const;
  /// The file itself, without external data.
  llvm::StringRef bytes() const;

  /// Returns the type of a tensor of this file; for integers that Tangram lacks, the type of their
  /// carrier. Errors: `unsupported` for any other dtype that Tangram lacks, `bad_data_file` for a
  /// negative or huge size or too many axes.
  Result<TensorType> type_of(const schema::Tensor& tensor) const;
  /// Returns the elements, for every type of the specification except strings. Types of less than 8
  /// bits are packed, low bits first. The bytes are valid for the life of this file and the tensor,
  /// and are not aligned. Errors: `bad_data_file`, `unsupported`, `cannot_read` (external data),
  /// naming the tensor.
  Result<Elements> elements(const schema::Tensor& tensor) const;
  /// Returns the elements in the type of type_of(). Errors: those of elements().
  Result<Elements> carried_elements(const schema::Tensor& tensor) const;
  /// Returns the elements of a small tensor as numbers. All integer types and bool give exact
  /// integers; as doubles they are rounded beyond 2^53. Errors: those of elements(), and
  /// `unsupported` for other types.
  Result<std::vector<int64_t>> integers(const schema::Tensor& tensor) const;
  Result<std::vector<double>> doubles(const schema::Tensor& tensor) const;

  ModelFile(const ModelFile&) = delete;
  ~ModelFile();

private:
  struct Impl;
  explicit ModelFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace tg::onnx
