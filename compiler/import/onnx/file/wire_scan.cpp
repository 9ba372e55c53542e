#include "compiler/import/onnx/file/wire_scan.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/ConvertUTF.h>

#include <limits>

namespace tg::onnx {

namespace {

/// The messages that are walked. Others contain no tensors and are copied whole.
enum class Message : uint8_t { Model, Graph, Node, Attribute, Function, Tensor, SparseTensor };

enum class Wire : uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

/// The kinds of fields.
enum class Field : uint8_t {
  Number,  // one scalar of the wire type
  Numbers, // repeated scalars, packed or not
  Text,    // UTF-8
  Bytes,   // arbitrary bytes, and messages that are not walked
  Walked,  // a walked message
  RawData,
};

struct FieldRow {
  uint32_t number;
  Field field;
  bool repeated = false;
  Wire wire = Wire::Length; // of Number and Numbers: the wire type of one element
  Message message = Message::Model;
};

constexpr FieldRow number(uint32_t number) { return {number, Field::Number, false, Wire::Varint}; }
constexpr FieldRow numbers(uint32_t number, Wire wire) {
  return {number, Field::Numbers, true, wire};
}
constexpr FieldRow text(uint32_t number) { return {number, Field::Text}; }
constexpr FieldRow texts(uint32_t number) { return {number, Field::Text, true}; }
constexpr FieldRow bytes(uint32_t number) { return {number, Field::Bytes}; }
constexpr FieldRow many_bytes(uint32_t number) { return {number, Field::Bytes, true}; }
constexpr FieldRow one(uint32_t number, Message message) {
  return {number, Field::Walked, false, Wire::Length, message};
}
constexpr FieldRow many(uint32_t number, Message message) {
  return {number, Field::Walked, true, Wire::Length, message};
}

// The fields of onnx.proto, by its numbers. Training, and annotations of quantisation and of
// devices, are left out.
constexpr FieldRow kModel[] = {number(1),
                               text(2),
                               text(3),
                               text(4),
                               number(5),
                               text(6),
                               many_bytes(8),
                               many_bytes(14),
                               one(7, Message::Graph),
                               many(25, Message::Function)};
constexpr FieldRow kGraph[] = {text(2),
                               text(10),
                               many_bytes(11),
                               many_bytes(12),
                               many_bytes(13),
                               many(1, Message::Node),
                               many(5, Message::Tensor),
                               many(15, Message::SparseTensor)};
constexpr FieldRow kNode[] = {texts(1), texts(2), text(3),       text(4),
                              text(7),  text(8),  many_bytes(9), many(5, Message::Attribute)};
constexpr FieldRow kAttribute[] = {text(1),
                                   {2, Field::Number, false, Wire::Fixed32},
                                   number(3),
                                   bytes(4),
                                   numbers(7, Wire::Fixed32),
                                   numbers(8, Wire::Varint),
                                   many_bytes(9),
                                   bytes(14),
                                   number(20),
                                   text(21),
                                   one(5, Message::Tensor),
                                   one(6, Message::Graph),
                                   many(10, Message::Tensor),
                                   many(11, Message::Graph),
                                   one(22, Message::SparseTensor)};
constexpr FieldRow kFunction[] = {text(1),
                                  texts(4),
                                  texts(5),
                                  texts(6),
                                  many_bytes(9),
                                  text(10),
                                  text(13),
                                  many(7, Message::Node),
                                  many(11, Message::Attribute)};
constexpr FieldRow kTensor[] = {numbers(1, Wire::Varint),
                                number(2),
                                bytes(3),
                                numbers(4, Wire::Fixed32),
                                numbers(5, Wire::Varint),
                                many_bytes(6),
                                numbers(7, Wire::Varint),
                                text(8),
                                {9, Field::RawData},
                                numbers(10, Wire::Fixed64),
                                numbers(11, Wire::Varint),
                                many_bytes(13),
                                number(14)};
constexpr FieldRow kSparseTensor[] = {numbers(3, Wire::Varint), one(1, Message::Tensor),
                                      one(2, Message::Tensor)};

// Additional fields of Tensor.
constexpr uint32_t kPlaceBegin = 100000, kPlaceEnd = 100001;

llvm::ArrayRef<FieldRow> fields_of(Message message) {
  switch (message) {
  case Message::Model: return kModel;
  case Message::Graph: return kGraph;
  case Message::Node: return kNode;
  case Message::Attribute: return kAttribute;
  case Message::Function: return kFunction;
  case Message::Tensor: return kTensor;
  case Message::SparseTensor: return kSparseTensor;
  }
  return {};
}

const char* name_of(Message message) {
  switch (message) {
  case Message::Model: return "the model";
  case Message::Graph: return "a graph";
  case Message::Node: return "a node";
  case Message::Attribute: return "an attribute";
  case Message::Function: return "a function";
  case Message::Tensor: return "a tensor";
  case Message::SparseTensor: return "a sparse tensor";
  }
  return "";
}

const FieldRow* find_field(Message message, uint32_t number) {
  llvm::ArrayRef<FieldRow> fields = fields_of(message);
  const auto* found =
      llvm::find_if(fields, [&](const FieldRow& row) { return row.number == number; });
  return found == fields.end() ? nullptr : found;
}

bool is_utf8(llvm::StringRef text) {
  const auto* at = reinterpret_cast<const llvm::UTF8*>(text.begin());
  return llvm::isLegalUTF8String(&at, reinterpret_cast<const llvm::UTF8*>(text.end()));
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// The length of a message is known only at its end. Five bytes are reserved for it, as a varint
/// that may be longer than necessary.
constexpr size_t kLengthBytes = 5;
void put_length(std::string& out, size_t at, uint64_t length) {
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7)
    out[at + i] = static_cast<char>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
}

class Scan {
public:
  Scan(llvm::StringRef file, llvm::StringRef name) : file_(file), name_(name) {}

  Result<std::string> run() {
    open_.push_back({Message::Model, file_.size(), 0});
    while (true) {
      if (at_ < open_.back().end) {
        TG_CHECK(field());
        if (out_.size() > std::numeric_limits<int32_t>::max())
          return bad("it contains more than 2 GB in addition to the raw data of tensors");
      } else if (open_.size() > 1) {
        close();
      } else {
        return std::move(out_);
      }
    }
  }

private:
  struct Open {
    Message message;
    size_t end;        // in the file
    size_t length_at;  // in out_, the place of the length
    uint32_t seen = 0; // bit mask of rows of fields_of() that have occurred
    size_t place_begin = 0, place_end = 0;
  };

  Diagnostic bad(const llvm::Twine& what) const {
    return error(Code::bad_data_file, "`{0}` is not a readable ONNX file: {1}", name_, what.str());
  }
  Diagnostic bad_here(const llvm::Twine& what) const {
    return bad("byte " + llvm::Twine(field_at_) + ", in " + name_of(open_.back().message) + ": " +
               what);
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == open_.back().end) return bad_here("a number is cut off");
      uint64_t byte = static_cast<unsigned char>(file_[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return bad_here("a number has more than 64 bits");
  }

  /// Returns the end of the value at at_, which has this wire type.
  Result<size_t> end_of(Wire wire) {
    size_t begin = at_, left = open_.back().end - at_;
    uint64_t length = wire == Wire::Fixed64 ? 8 : wire == Wire::Fixed32 ? 4 : 0;
    if (wire == Wire::Varint || wire == Wire::Length) {
      TG_TRY(uint64_t number, varint());
      left = open_.back().end - at_;
      length = wire == Wire::Length ? number : 0;
    }
    if (length > left)
      return bad_here(llvm::Twine(length) + " bytes are declared, but only " + llvm::Twine(left) +
                      " remain");
    size_t end = at_ + length;
    value_at_ = wire == Wire::Length ? at_ : begin;
    return end;
  }

  Result<void> field() {
    field_at_ = at_;
    TG_TRY(uint64_t tag, varint());
    uint64_t wire = tag & 7, number = tag >> 3;
    if (wire != 0 && wire != 1 && wire != 2 && wire != 5)
      return bad_here("a field has the unknown wire type " + llvm::Twine(wire));
    if (number == 0 || number >= uint64_t{1} << 29)
      return bad_here("there is no field " + llvm::Twine(number));
    TG_TRY(size_t end, end_of(static_cast<Wire>(wire)));
    const FieldRow* row = find_field(open_.back().message, static_cast<uint32_t>(number));
    if (!row) { // an unknown field
      at_ = end;
      return {};
    }
    bool packed = row->field == Field::Numbers && static_cast<Wire>(wire) == Wire::Length;
    if (static_cast<Wire>(wire) != row->wire && !packed)
      return bad_here("field " + llvm::Twine(number) + " has the wire type " + llvm::Twine(wire));
    TG_CHECK(note_single(*row));
    return take(*row, static_cast<uint32_t>(tag), end);
  }

  Result<void> note_single(const FieldRow& row) {
    if (row.repeated) return {};
    auto bit = uint32_t{1} << (&row - fields_of(open_.back().message).data());
    if (open_.back().seen & bit)
      return bad_here("field " + llvm::Twine(row.number) + " occurs twice");
    open_.back().seen |= bit;
    return {};
  }

  Result<void> take(const FieldRow& row, uint32_t tag, size_t end) {
    if (row.field == Field::Walked) return open(row.message, tag, end);
    if (row.field == Field::Text && !is_utf8(file_.slice(value_at_, end)))
      return bad_here("field " + llvm::Twine(row.number) + " is not UTF-8 text");
    if (row.field == Field::RawData && end - value_at_ > kMaxInlineRawData) {
      open_.back().place_begin = value_at_;
      open_.back().place_end = end;
    } else {
      out_.append(file_.data() + field_at_, end - field_at_);
    }
    at_ = end;
    return {};
  }

  Result<void> open(Message message, uint32_t tag, size_t end) {
    if (open_.size() >= kMaxMessageDepth) return bad_here("graphs are nested too deep");
    append_varint(out_, tag);
    open_.push_back({message, end, out_.size()});
    out_.append(kLengthBytes, '\0');
    at_ = value_at_;
    return {};
  }

  void close() {
    Open done = open_.pop_back_val();
    if (done.place_end != 0) {
      append_varint(out_, uint64_t{kPlaceBegin} << 3);
      append_varint(out_, done.place_begin);
      append_varint(out_, uint64_t{kPlaceEnd} << 3);
      append_varint(out_, done.place_end);
    }
    put_length(out_, done.length_at, out_.size() - done.length_at - kLengthBytes);
  }

  llvm::StringRef file_, name_;
  std::string out_;
  llvm::SmallVector<Open, 16> open_;
  size_t at_ = 0, field_at_ = 0;
  size_t value_at_ = 0; // of the current field, after its tag and length
};

} // namespace

Result<std::string> without_raw_data(llvm::StringRef file, llvm::StringRef name) {
  return Scan(file, name).run();
}

} // namespace tg::onnx
