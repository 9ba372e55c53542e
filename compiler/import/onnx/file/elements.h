// The element types of the ONNX format, and tensors whose elements are in the lists of a message
// (float_data, int32_data, …) as the bytes that raw data would have, and back to numbers.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/ir/whole_ranges.h"

namespace tg::onnx {

/// The list of a message that holds elements of a type.
enum class DataList : uint8_t { None, Float, Int32, Int64, Double, Uint64, String };

struct ElementType {
  const char* name;
  int bits;            // of one element in raw data; 0 of undefined and string
  DataList list;       // where they are if not in raw data
  bool is_integer;     // or bool
  bool is_signed;      // of integers
  int per_element = 1; // entries of the list for one element; of packed ones see `bits`
};
/// Null of one that the specification does not have.
const ElementType* element_type(int32_t data_type);

/// The numbers of a type of integers, as i32 or i64 carries them.
WholeRange range_of(const ElementType& type);

/// Bytes of so many elements; they are packed where one has less than 8 bits.
inline uint64_t bytes_of(const ElementType& type, uint64_t count) {
  return (count * static_cast<uint64_t>(type.bits) + 7) / 8;
}

/// The name of a list that is not empty and is not `wanted`; null if there is none.
const char* other_list(const schema::Tensor& tensor, DataList wanted);

/// `count` elements from the list of their type.
/// Errors: `bad_data_file`, without the tensor's name.
Result<Elements> elements_from_list(const schema::Tensor& tensor, const ElementType& type,
                                    uint64_t count);

/// Integers of a type that Tangram does not have, as elements of the dtype that carries them.
Elements as_carried(llvm::StringRef bytes, const ElementType& type, uint64_t count, DType carrier);
/// Errors: `unsupported`, without the tensor's name.
Result<std::vector<int64_t>> as_integers(llvm::StringRef bytes, const ElementType& type,
                                         uint64_t count);
/// Of float, double, float16, bfloat16, and of integers, rounded beyond 2^53.
Result<std::vector<double>> as_doubles(llvm::StringRef bytes, int32_t data_type, uint64_t count);

} // namespace tg::onnx
