// An ONNX file, opened: the network as protobuf messages, without the elements of large tensors,
// which stay in the mapped file until somebody reads them.
//
// Protobuf copies what it parses and ends at 2 GB, so a scan of the wire format goes first: it
// walks model, graph, nodes, attributes and tensors by their field numbers, takes `raw_data` out of
// every tensor where that is long, and leaves its place (Tensor.place_begin, place_end). What is
// left is small and goes through protobuf. External data is mapped file by file when it is first
// read; its path may not lead outside of the model's folder, by name or by link.
//
// Nothing in a file is believed before it is checked: lengths stay within what holds them, nesting
// is bounded, sizes are multiplied with overflow checks, and a tensor's bytes are as many as its
// type says.
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
  /// What `bytes` refers to where the file had them in another form; does not move with the struct.
  std::unique_ptr<char[]> owned;
};

/// "float", "uint8", "float8e4m3fn", …: as the specification calls it; "type 99" of one it has not.
std::string element_type_name(int32_t data_type);
/// The dtype of these elements. Errors: `unsupported` for one that Tangram does not have.
Result<DType> dtype_of(int32_t data_type);
/// The dtype that carries integers of a type that Tangram does not have: i32 for those of up to 16
/// bits, i64 for uint32 and, as the same bits, for uint64. None for all other types.
DType carrier_of(int32_t data_type);

class ModelFile {
public:
  /// Errors: `cannot_read`, `empty_file`, `bad_data_file`.
  static Result<std::shared_ptr<const ModelFile>> open(llvm::StringRef path);
  /// The same from memory; external data is looked for in `folder`,
  /// and refused where that is empty.
  static Result<std::shared_ptr<const ModelFile>> parse(std::unique_ptr<llvm::MemoryBuffer> file,
                                                        llvm::StringRef name,
                                                        llvm::StringRef folder = "");

  const schema::Model& model() const;
  llvm::StringRef file_name() const;
  /// The file itself, without external data.
  llvm::StringRef bytes() const;

  /// Type of a tensor of this file; of integers that Tangram does not have, that of their carrier.
  /// Errors: `unsupported` for any other dtype that Tangram does not have, `bad_data_file` for a
  /// negative or huge size or too many axes.
  Result<TensorType> type_of(const schema::Tensor& tensor) const;
  /// Its elements, of every type of the specification but strings; types of less than 8 bits are
  /// packed, low bits first. The bytes live as long as this file and the tensor, and are not
  /// aligned. Errors: `bad_data_file`, `unsupported`, `cannot_read` (external data), naming the
  /// tensor.
  Result<Elements> elements(const schema::Tensor& tensor) const;
  /// The elements as type_of() has them. Errors: those of elements().
  Result<Elements> carried_elements(const schema::Tensor& tensor) const;
  /// The elements of a small tensor as numbers. Integers come exactly, of all integer types and
  /// bool; as doubles they are rounded beyond 2^53. Errors: those of elements(), `unsupported` for
  /// what are no such numbers.
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
