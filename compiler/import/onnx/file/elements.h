// The element types of the ONNX format. Converts tensors whose elements are in a list of the
// message (float_data, int32_data, …) to the bytes of raw data, and raw data to numbers.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/ir/whole_ranges.h"

namespace tg::onnx {

/// The list of a message that has the elements of a type.
enum class DataList : uint8_t { None, Float, Int32, Int64, Double, Uint64, String };

struct ElementType {
  const char* name;
  int bits;            // of one element in raw data; 0 for undefined and string
  DataList list;       // the list, if not raw data
  bool is_integer;     // true for bool too
  bool is_signed;      // for integers
  int per_element = 1; // list entries per element; for packed types see `bits`
};
/// Returns null for a type that the specification does not have.
const ElementType* element_type(int32_t data_type);

/// The numbers of a type of integers, as i32 or i64 carries them.
WholeRange range_of(const ElementType& type);

/// Bytes of so many elements; they are packed where one has less than 8 bits.
inline uint64_t bytes_of(const ElementType& type, uint64_t count) {
  return (count * static_cast<uint64_t>(type.bits) + 7) / 8;
}

/// Returns the name of a non-empty list other than `wanted`, or null.
const char* other_list(const schema::Tensor& tensor, DataList wanted);

/// Returns `count` elements from the list of their type. Errors: `bad_data_file`, without the
/// tensor's name.
Result<Elements> elements_from_list(const schema::Tensor& tensor, const ElementType& type,
                                    uint64_t count);

/// Converts integers of a type that Tangram lacks to the dtype that carries them.
Elements as_carried(llvm::StringRef bytes, const ElementType& type, uint64_t count, DType carrier);
/// Converts elements to numbers. Errors: `unsupported`, without the tensor's name.
Result<std::vector<int64_t>> as_integers(llvm::StringRef bytes, const ElementType& type,
                                         uint64_t count);
/// For float, double, float16, bfloat16, and integers, which are rounded beyond 2^53.
Result<std::vector<double>> as_doubles(llvm::StringRef bytes, int32_t data_type, uint64_t count);

} // namespace tg::onnx
