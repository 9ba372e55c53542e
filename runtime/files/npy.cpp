#include "runtime/files/numpy.h"

#include "lang/core/support/data_file.h"
#include "lang/core/support/file_kind.h"
#include "runtime/convert.h"

#include <llvm/ADT/StringExtras.h>

#include <cstring>

namespace tg {

namespace {

constexpr llvm::StringLiteral kMagic("\x93NUMPY");
constexpr size_t kNpyAlign = 64; // alignment of the data in files that NumPy writes

struct DescrRow {
  llvm::StringRef descr; // "f4" after the byte order
  DType dtype;
  int bytes = 0; // of an element in the file, if that is narrower
  bool is_signed = false;
};
/// NumPy has no bf16. ml_dtypes, which adds it, writes it as two-byte elements without a type.
/// Integers that Tangram does not have are read as the dtypes that represent them in a graph,
/// but are not written.
constexpr DescrRow kDescrs[] = {
    {"f4", DType::F32},    {"f8", DType::F64},          {"f2", DType::F16},
    {"i4", DType::I32},    {"i8", DType::I64},          {"b1", DType::Bool},
    {"V2", DType::BF16},   {"u1", DType::I32, 1},       {"i1", DType::I32, 1, true},
    {"u2", DType::I32, 2}, {"i2", DType::I32, 2, true}, {"u4", DType::I64, 4},
    {"u8", DType::I64, 8}};

/// Returns the row of a header's `descr` without its byte order, in an array of that name;
/// null if there is none.
const DescrRow* row_of(llvm::StringRef kind, llvm::StringRef array) {
  array.consume_back(".npy");
  if (kind == "u2" && array.endswith(kBitsOfBf16)) kind = "V2";
  const auto* found = llvm::find_if(kDescrs, [&](const auto& row) { return row.descr == kind; });
  return found == std::end(kDescrs) ? nullptr : found;
}

/// Returns the reason why a dtype is not supported, with a workaround.
std::string unsupported(llvm::StringRef kind) {
  std::string found = "its dtype is " + kind.str() + ", ";
  if (kind == "f1" || kind == "V1")
    return found + "an 8-bit float of ml_dtypes, which is not supported; save the array as "
                   "float16 or float32";
  return found +
         "but must be float16, bfloat16, float32, float64, an integer of 8 to 64 bits or bool";
}

/// Reads the Python dictionary in the header: a strict scanner for its three keys.
class NpyHeaderReader {
public:
  NpyHeaderReader(llvm::StringRef text, llvm::StringRef file) : rest_(text), file_(file) {}

  Result<NpyHeader> run() {
    bool has_descr = false, has_order = false, has_shape = false;
    if (!consume("{")) return bad("its header is not a dictionary");
    while (!consume("}")) {
      std::optional<llvm::StringRef> key = string();
      if (!key || !consume(":")) return bad("its header is not a dictionary");
      bool* seen = *key == "descr"           ? &has_descr
                   : *key == "fortran_order" ? &has_order
                   : *key == "shape"         ? &has_shape
                                             : nullptr;
      if (!seen || *seen) return bad("its header has an unknown or repeated key");
      *seen = true;
      TG_CHECK(seen == &has_descr ? descr() : seen == &has_order ? order() : shape());
      if (!consume(",") && !rest_.ltrim().startswith("}"))
        return bad("its header is not a dictionary");
    }
    if (!rest_.trim().empty()) return bad("text follows its header");
    if (!has_descr || !has_order || !has_shape) return bad("its header lacks a key");
    return NpyHeader{type_, 0, width_, is_signed_};
  }

private:
  Diagnostic bad(llvm::StringRef what) const {
    return error(Code::bad_data_file, "`{0}` is not a readable tensor file: {1}", file_, what);
  }

  bool consume(llvm::StringRef token) {
    rest_ = rest_.ltrim();
    return rest_.consume_front(token);
  }

  std::optional<llvm::StringRef> string() {
    rest_ = rest_.ltrim();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    size_t end = rest_.find(rest_[0], 1);
    if (end == llvm::StringRef::npos) return std::nullopt;
    llvm::StringRef text = rest_.slice(1, end);
    rest_ = rest_.drop_front(end + 1);
    return text;
  }

  Result<void> descr() {
    std::optional<llvm::StringRef> text = string();
    if (!text || text->empty()) return bad("its dtype is structured");
    char order = text->front();
    llvm::StringRef kind = text->drop_front();
    if (order == '>') return bad("it is big-endian; save it as little-endian");
    if (order != '<' && order != '=' && order != '|') return bad("its dtype is structured");
    const DescrRow* row = row_of(kind, file_);
    if (!row) return bad(unsupported(kind));
    type_.dtype = row->dtype;
    width_ = row->bytes ? row->bytes : static_cast<int>(dtype_size(row->dtype));
    is_signed_ = row->is_signed;
    return {};
  }

  Result<void> order() {
    if (consume("False")) return {};
    if (consume("True")) return bad("it is in Fortran order; save numpy.ascontiguousarray(array)");
    return bad("its header is not a dictionary");
  }

  Result<void> shape() {
    if (!consume("(")) return bad("its shape is not a tuple");
    int64_t elements = 1;
    while (!consume(")")) {
      rest_ = rest_.ltrim();
      llvm::StringRef digits = rest_.take_while(llvm::isDigit);
      int64_t dim = 0;
      if (digits.empty() || digits.getAsInteger(10, dim))
        return bad("its shape is not a tuple of ints");
      rest_ = rest_.drop_front(digits.size());
      consume("L"); // Python 2 writes it
      if (type_.rank() == kMaxRank) return bad("its rank exceeds the limit");
      if (dim > kMaxElements / elements) return bad("its shape is too large");
      elements *= std::max<int64_t>(dim, 1);
      type_.shape.push_back(dim);
      if (!consume(",") && !rest_.ltrim().startswith(")"))
        return bad("its shape is not a tuple of ints");
    }
    return {};
  }

  llvm::StringRef rest_, file_;
  TensorType type_;
  int width_ = 0;
  bool is_signed_ = false;
};

} // namespace

Result<NpyHeader> parse_npy_header(llvm::StringRef start, uint64_t size, llvm::StringRef name) {
  auto bad = [&](const char* what) {
    return error(Code::bad_data_file, "`{0}` is not a readable tensor file: {1}", name, what);
  };
  if (!start.startswith(kMagic)) return bad("it does not start like an .npy file");
  if (start.size() < kMagic.size() + 4) return bad("it ends within its header");
  auto major = static_cast<unsigned char>(start[kMagic.size()]);
  if (major < 1 || major > 3) return bad("its format version is unknown");
  size_t length_size = major == 1 ? 2 : 4, head = kMagic.size() + 2 + length_size;
  if (start.size() < head) return bad("it ends within its header");
  uint64_t length = read_little_endian(start, kMagic.size() + 2, length_size);
  if (length > size - head) return bad("it ends within its header");
  if (length > start.size() - head) return bad("its header exceeds the limit of 64 KiB");
  TG_TRY(NpyHeader header, NpyHeaderReader(start.substr(head, length), name).run());
  uint64_t data = size - head - length;
  auto wanted = static_cast<uint64_t>(header.type.elements()) * static_cast<uint64_t>(header.width);
  if (data != wanted)
    return error(Code::bad_data_file, "`{0}` contains {1} bytes of data, but {2} requires {3}",
                 name, data, header.type.text(), wanted);
  header.data = head + length;
  return header;
}

/// Converts little-endian integers to a wider dtype.
static void widen_integers(llvm::StringRef elements, const NpyHeader& header, Tensor& tensor) {
  auto from = static_cast<size_t>(header.width);
  auto to = static_cast<size_t>(dtype_size(header.type.dtype));
  std::byte* at = tensor.data();
  for (const char* x = elements.begin(); x != elements.end(); x += from, at += to) {
    bool is_negative = header.is_signed && x[from - 1] < 0;
    std::memset(at, is_negative ? 0xff : 0, to);
    std::memcpy(at, x, from);
  }
}

Result<Tensor> parse_npy(llvm::StringRef bytes, llvm::StringRef name) {
  if (bytes.empty()) return error(Code::empty_file, "`{0}` is empty", name);
  TG_TRY(NpyHeader header, parse_npy_header(bytes.take_front(kMaxNpyHeader), bytes.size(), name));
  TG_TRY(Tensor tensor, Tensor::zeros(header.type));
  llvm::StringRef elements = bytes.drop_front(header.data);
  if (header.width == dtype_size(header.type.dtype))
    std::memcpy(tensor.data(), elements.data(), elements.size());
  else
    widen_integers(elements, header, tensor);
  return tensor;
}

Result<Tensor> read_npy(llvm::StringRef path) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  llvm::StringRef bytes = file->getBuffer();
  Result<Tensor> tensor = parse_npy(bytes, path);
  if (tensor) return tensor;
  Diagnostic bad = with_kind(std::move(tensor.error()), bytes, ".npy");
  if (bytes.startswith("PK")) bad.help = "give an archive of arrays without a name: F.npz";
  return bad;
}

std::string format_npy(const Tensor& tensor) {
  TensorType type = tensor.type();
  std::vector<std::byte> widened; // NumPy has no bf16: written as f32, which is exact
  const std::byte* data = tensor.data();
  if (type.dtype == DType::BF16) {
    type.dtype = DType::F32;
    widened.resize(static_cast<size_t>(type.bytes()));
    convert(DType::BF16, data, DType::F32, widened.data(), type.elements());
    data = widened.data();
  }
  llvm::StringRef descr;
  for (const DescrRow& row : kDescrs)
    if (row.dtype == type.dtype && row.bytes == 0) descr = row.descr;
  assert(!descr.empty() && "NumPy has every dtype except bf16");
  std::string header = "{'descr': '" + std::string(dtype_size(type.dtype) == 1 ? "|" : "<") +
                       descr.str() + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : type.shape) header += std::to_string(dim) + ",";
  header += "), }";
  size_t prefix = kMagic.size() + 4;
  while ((prefix + header.size() + 1) % kNpyAlign != 0) header += ' ';
  header += '\n';
  std::string bytes = kMagic.str();
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data), static_cast<size_t>(type.bytes()));
  return bytes;
}

Result<void> write_npy(llvm::StringRef path, const Tensor& tensor) {
  return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << format_npy(tensor);
    return {};
  });
}

} // namespace tg
