#include "runtime/files/safetensors.h"

#include "lang/core/support/file_kind.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tg {

namespace {

struct DTypeRow {
  llvm::StringLiteral name;
  uint64_t bits;
  DType dtype; // None: not supported
};
constexpr DTypeRow kDTypes[] = {
    {"F32", 32, DType::F32},  {"F16", 16, DType::F16},     {"BF16", 16, DType::BF16},
    {"I32", 32, DType::I32},  {"I64", 64, DType::I64},     {"BOOL", 8, DType::Bool},
    {"F64", 64, DType::F64},  {"I16", 16, DType::None},    {"I8", 8, DType::None},
    {"U64", 64, DType::None}, {"U32", 32, DType::None},    {"U16", 16, DType::None},
    {"U8", 8, DType::None},   {"F8_E4M3", 8, DType::None}, {"F8_E5M2", 8, DType::None},
    {"C64", 64, DType::None},
};

const DTypeRow* find_dtype(llvm::StringRef name) {
  const auto* found = llvm::find_if(kDTypes, [&](const DTypeRow& row) { return row.name == name; });
  return found == std::end(kDTypes) ? nullptr : found;
}

llvm::StringRef dtype_text(DType dtype) {
  const auto* found = llvm::find_if(kDTypes, [&](const DTypeRow& r) { return r.dtype == dtype; });
  assert(found != std::end(kDTypes) && "every dtype of Tangram has a row");
  return found->name;
}

/// Alignment of data offsets in the files written here, so that a mapped file can be read in place.
constexpr size_t kHeaderAlign = 64;

std::string sizes_text(llvm::ArrayRef<int64_t> sizes, llvm::StringRef separator) {
  std::vector<std::string> parts;
  for (int64_t size : sizes) parts.push_back(std::to_string(size));
  return llvm::join(parts, separator);
}

bool is_utf8(llvm::StringRef text) {
  const auto* at = reinterpret_cast<const llvm::UTF8*>(text.begin());
  return llvm::isLegalUTF8String(&at, reinterpret_cast<const llvm::UTF8*>(text.end()));
}

/// A scanner for the one form of a header; the first deviation is the error.
class HeaderReader {
public:
  using Entry = Safetensors::Entry;
  HeaderReader(llvm::StringRef text, llvm::StringRef file) : rest_(text), file_(file) {}

  /// Reads entries and metadata in the order of the header.
  Result<void> run(std::vector<Entry>& entries,
                   std::vector<std::pair<std::string, std::string>>& metadata) {
    llvm::StringMap<char> seen;
    if (!rest_.startswith("{")) return bad("its header does not start with `{`");
    TG_CHECK(members([&](std::string name) -> Result<void> {
      if (!seen.try_emplace(name).second)
        return bad(llvm::formatv("`{0}` occurs twice", name).str());
      if (name == "__metadata__") return read_metadata(metadata);
      entries.emplace_back();
      entries.back().name = std::move(name);
      return read_entry(entries.back());
    }));
    if (!rest_.trim(" \t\r\n").empty()) return bad("text follows its header");
    return {};
  }

private:
  Diagnostic bad(llvm::StringRef what) const {
    return error(Code::bad_data_file, "`{0}` is not a readable safetensors file: {1}", file_, what);
  }
  Diagnostic bad_entry(const Entry& entry, llvm::StringRef what) const {
    return bad(llvm::formatv("`{0}` {1}", entry.name, what).str());
  }

  bool consume(char c) {
    rest_ = rest_.ltrim(" \t\r\n");
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }

  /// Reads `{"name": value, ...}`; `value` reads each value and gets its name.
  Result<void> members(llvm::function_ref<Result<void>(std::string)> value) {
    if (!consume('{')) return bad("its header is not valid JSON of this format");
    if (consume('}')) return {};
    do {
      TG_TRY(std::string name, string());
      if (!consume(':')) return bad("its header is not valid JSON of this format");
      TG_CHECK(value(std::move(name)));
    } while (consume(','));
    if (!consume('}')) return bad("its header is not valid JSON of this format");
    return {};
  }

  Result<void> read_metadata(std::vector<std::pair<std::string, std::string>>& metadata) {
    llvm::StringMap<char> seen;
    return members([&](std::string name) -> Result<void> {
      if (!seen.try_emplace(name).second) return bad("a key of `__metadata__` occurs twice");
      TG_TRY(std::string text, string());
      metadata.emplace_back(std::move(name), std::move(text));
      return {};
    });
  }

  Result<void> read_entry(Entry& entry) {
    const DTypeRow* dtype = nullptr;
    std::optional<llvm::SmallVector<uint64_t, 5>> shape, place;
    TG_CHECK(members([&](const std::string& name) -> Result<void> {
      if (name == "dtype" && !dtype) {
        TG_TRY(entry.dtype, string());
        dtype = find_dtype(entry.dtype);
        if (!dtype) return bad_entry(entry, "has an unknown dtype");
        return {};
      }
      std::optional<llvm::SmallVector<uint64_t, 5>>* slot = name == "shape"          ? &shape
                                                            : name == "data_offsets" ? &place
                                                                                     : nullptr;
      if (!slot || *slot) return bad_entry(entry, "has an unknown or repeated key");
      TG_TRY(*slot, numbers());
      return {};
    }));
    if (!dtype || !shape || !place) return bad_entry(entry, "lacks dtype, shape or data_offsets");
    if (place->size() != 2 || (*place)[0] > (*place)[1])
      return bad_entry(entry, "has data_offsets that are not a begin and an end");
    entry.begin = (*place)[0];
    entry.end = (*place)[1];
    return check_size(entry, *dtype, *shape);
  }

  Result<void> check_size(Entry& entry, const DTypeRow& dtype, llvm::ArrayRef<uint64_t> shape) {
    uint64_t bytes = dtype.bits / 8;
    bool empty = llvm::is_contained(shape, 0u), fits = true;
    for (uint64_t dim : shape) {
      fits &= dim <= INT64_MAX && (empty || !__builtin_mul_overflow(bytes, dim, &bytes));
      entry.type.shape.push_back(static_cast<int64_t>(dim));
    }
    if (!fits) return bad_entry(entry, "has a shape that is too large");
    if (empty) bytes = 0;
    entry.type.dtype = dtype.dtype;
    if (entry.end - entry.begin == bytes) return {};
    return bad_entry(entry, llvm::formatv("has {0} bytes of data, but {1} requires {2}",
                                          entry.end - entry.begin, entry.text(), bytes)
                                .str());
  }

  /// Reads `[1, 2]`, a list of non-negative integers.
  Result<llvm::SmallVector<uint64_t, 5>> numbers() {
    llvm::SmallVector<uint64_t, 5> list;
    if (!consume('[')) return bad("a shape or data_offsets entry is not a list of sizes");
    if (consume(']')) return list;
    do {
      rest_ = rest_.ltrim(" \t\r\n");
      llvm::StringRef digits = rest_.take_while([](char c) { return llvm::isDigit(c); });
      uint64_t number = 0;
      if (digits.empty() || (digits.size() > 1 && digits[0] == '0') ||
          digits.getAsInteger(10, number))
        return bad("a shape or data_offsets entry is not a list of sizes");
      rest_ = rest_.drop_front(digits.size());
      list.push_back(number);
    } while (consume(','));
    if (!consume(']')) return bad("a shape or data_offsets entry is not a list of sizes");
    return list;
  }

  /// Reads a JSON string and resolves its escapes.
  Result<std::string> string() {
    if (!consume('"')) return bad("its header is not valid JSON of this format");
    std::string text;
    while (!rest_.empty() && rest_[0] != '"') {
      auto c = static_cast<unsigned char>(rest_[0]);
      if (c < 0x20) return bad("a string of its header contains a control character");
      rest_ = rest_.drop_front();
      if (c != '\\') {
        text += static_cast<char>(c);
      } else if (!escape(text)) {
        return bad("a string of its header has an invalid escape");
      }
    }
    if (!rest_.consume_front("\"")) return bad("a string of its header does not end");
    if (!is_utf8(text)) return bad("a string of its header is not UTF-8");
    return text;
  }

  /// Reads the part of an escape after the backslash.
  bool escape(std::string& text) {
    static constexpr llvm::StringLiteral kFrom("\"\\/bfnrt"), kTo("\"\\/\b\f\n\r\t");
    if (rest_.empty()) return false;
    size_t plain = kFrom.find(rest_[0]);
    if (plain != llvm::StringRef::npos) {
      text += kTo[plain];
      rest_ = rest_.drop_front();
      return true;
    }
    llvm::UTF32 point = 0, low = 0;
    if (!code_unit(point)) return false;
    if (point >= 0xd800 && point < 0xdc00) {
      if (!rest_.consume_front("\\") || !code_unit(low) || low < 0xdc00 || low > 0xdfff)
        return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    } else if (point >= 0xdc00 && point <= 0xdfff) {
      return false;
    }
    char utf8[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = utf8;
    if (!llvm::ConvertCodePointToUTF8(point, end)) return false;
    text.append(utf8, end);
    return true;
  }

  bool code_unit(llvm::UTF32& unit) {
    if (!rest_.consume_front("u") || rest_.size() < 4) return false;
    llvm::StringRef digits = rest_.take_front(4);
    rest_ = rest_.drop_front(4);
    return llvm::all_of(digits, llvm::isHexDigit) && !digits.getAsInteger(16, unit);
  }

  llvm::StringRef rest_, file_;
};

} // namespace

std::string Safetensors::Entry::text() const {
  if (type.dtype != DType::None) return type.text();
  return type.shape.empty() ? dtype : dtype + "[" + sizes_text(type.shape, ", ") + "]";
}

Result<Safetensors> Safetensors::open(llvm::StringRef path) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  std::string head = file->getBuffer().take_front(kHeadOfKind).str();
  Result<Safetensors> read = parse(std::move(file), path);
  if (!read) return with_kind(std::move(read.error()), head, ".safetensors");
  return read;
}

Result<Safetensors> Safetensors::parse(std::unique_ptr<llvm::MemoryBuffer> file,
                                       llvm::StringRef name) {
  auto bad = [&](const std::string& what) {
    return error(Code::bad_data_file, "`{0}` is not a readable safetensors file: {1}", name, what);
  };
  llvm::StringRef bytes = file->getBuffer();
  if (bytes.size() < 8) return bad("it ends within its header");
  uint64_t length = read_little_endian(bytes, 0, 8);
  if (length > kMaxSafetensorsHeader) return bad("its header exceeds the limit");
  if (length > bytes.size() - 8) return bad("it ends within its header");
  Safetensors result;
  result.file_name_ = name.str();
  TG_CHECK(HeaderReader(bytes.substr(8, length), name).run(result.entries_, result.metadata_));
  result.data_ = bytes.drop_front(8 + length);
  llvm::stable_sort(result.entries_, [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Entry& entry : result.entries_) {
    if (entry.begin != covered)
      return bad(llvm::formatv("`{0}` {1} its neighbour", entry.name,
                               entry.begin < covered ? "overlaps" : "leaves a gap after"));
    covered = entry.end;
  }
  if (covered != result.data_.size())
    return bad(llvm::formatv("it contains {0} bytes of data, but its header requires {1}",
                             result.data_.size(), covered));
  for (size_t i = 0; i < result.entries_.size(); ++i) result.index_[result.entries_[i].name] = i;
  result.file_ = std::move(file);
  return result;
}

const Safetensors::Entry* Safetensors::find(llvm::StringRef name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<llvm::StringRef> Safetensors::bytes(const Entry& entry) const {
  auto bad = [&](const char* what) {
    return error(Code::bad_data_file, "`{0}` of `{1}` is {2}, {3}", entry.name, file_name_,
                 entry.text(), what);
  };
  if (entry.type.dtype == DType::None) return bad("a dtype that Tangram does not support");
  if (entry.type.rank() > kMaxRank) return bad("whose rank exceeds the limit");
  if (entry.begin == entry.end) return bad("which has no elements");
  llvm::StringRef bytes = data_.slice(entry.begin, entry.end);
  if (entry.type.dtype == DType::Bool &&
      !llvm::all_of(bytes, [](char c) { return c == 0 || c == 1; }))
    return bad("but has an element other than 0 or 1");
  return bytes;
}

Result<Tensor> Safetensors::read(const Entry& entry) const {
  TG_TRY(llvm::StringRef bytes, this->bytes(entry));
  TG_TRY(Tensor tensor, Tensor::zeros(entry.type));
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

// --- writing ----------------------------------------------------------------------------------

namespace {

void write_string(llvm::raw_ostream& out, llvm::StringRef text) {
  out << '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      out << '\\' << c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out << llvm::formatv("\\u{0,0+4:x-}", static_cast<unsigned>(c));
    else
      out << c;
  }
  out << '"';
}

std::string header_text(llvm::ArrayRef<SafetensorsItem> items, llvm::ArrayRef<size_t> order,
                        llvm::ArrayRef<std::pair<std::string, std::string>> metadata) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "{\"__metadata__\":{";
  llvm::ListSeparator between_texts(",");
  for (const auto& [name, value] : metadata) {
    out << between_texts;
    write_string(out, name);
    out << ':';
    write_string(out, value);
  }
  out << '}';
  int64_t offset = 0;
  for (size_t i : order) {
    int64_t end = offset + items[i].type.bytes();
    out << ',';
    write_string(out, items[i].name);
    out << ":{\"dtype\":\"" << dtype_text(items[i].type.dtype) << "\",\"shape\":["
        << sizes_text(items[i].type.shape, ",") << "],\"data_offsets\":[" << offset << ',' << end
        << "]}";
    offset = end;
  }
  out << '}';
  out.flush();
  text.resize((text.size() + 8 + kHeaderAlign - 1) / kHeaderAlign * kHeaderAlign - 8, ' ');
  return text;
}

} // namespace

Result<void> write_safetensors(llvm::StringRef path, llvm::ArrayRef<SafetensorsItem> items,
                               TensorSource source,
                               llvm::ArrayRef<std::pair<std::string, std::string>> metadata) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  llvm::sort(order, [&](size_t a, size_t b) {
    int64_t x = dtype_size(items[a].type.dtype), y = dtype_size(items[b].type.dtype);
    return x != y ? x > y : items[a].name < items[b].name;
  });
  std::string header = header_text(items, order, metadata);
  return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    std::string length;
    append_little_endian(length, header.size(), 8);
    out << length << header;
    for (size_t i : order) {
      TG_TRY(Tensor tensor, source(i));
      if (!(tensor.type() == items[i].type))
        return error(Code::internal, "`{0}` was declared as {1}, but is {2}", items[i].name,
                     items[i].type.text(), tensor.type().text());
      out.write(reinterpret_cast<const char*>(std::as_const(tensor).data()),
                static_cast<size_t>(tensor.bytes()));
    }
    return {};
  });
}

} // namespace tg
