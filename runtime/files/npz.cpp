
#include "lang/core/support/data_file.h"
#include "lang/core/support/file_kind.h"
#include "runtime/files/numpy.h"

#include <llvm/ADT/StringSet.h>

#include <algorithm>

#include <zlib.h>

namespace tg {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr uint64_t kWide = 0xffffffff; // the value is in the 64-bit field
constexpr uint16_t kWideField = 1;     // id of the extra field that holds it
constexpr uint16_t kStored = 0, kDeflated = 8;
/// The largest ratio that Deflate can reach (zlib Technical Details, "Maximum Compression Factor").
constexpr uint64_t kMaxRatio = 1032;

/// Fixed sizes of the records, without the variable-length text after them.
constexpr size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;

struct Member {
  std::string name;
  uint64_t compressed = 0, size = 0, header = 0, data = 0; // `header`, `data`: offsets in the file
  uint32_t checksum = 0;
  uint16_t method = kStored;
};

class Archive {
public:
  Archive(llvm::StringRef bytes, llvm::StringRef file) : bytes_(bytes), file_(file) {}

  Result<std::vector<Member>> members() {
    TG_CHECK(find_directory());
    std::vector<Member> members;
    llvm::StringSet<> names;
    uint64_t at = directory_;
    while (at < directory_end_) {
      members.emplace_back();
      TG_CHECK(read_entry(at, members.back()));
      TG_CHECK(locate(members.back()));
      if (!names.insert(members.back().name).second) return bad("two members have the same name");
    }
    if (at != directory_end_ || members.size() != count_)
      return bad("its directory has a different number of members");
    return check_apart(members) ? Result<std::vector<Member>>(std::move(members))
                                : bad("two members overlap");
  }

  /// Returns the contents of a member after checking its checksum.
  Result<std::string> contents(const Member& member) const {
    TG_TRY(std::string out, start(member, member.size));
    if (crc(out) != member.checksum) return bad("the checksum of a member is wrong");
    return out;
  }

  /// Returns the first `most` bytes, or all of them.
  Result<std::string> start(const Member& member, uint64_t most) const {
    llvm::StringRef packed = bytes_.substr(member.data, member.compressed);
    if (member.method == kStored) {
      if (member.compressed != member.size) return bad("a stored member has two sizes");
      return packed.take_front(most).str();
    }
    if (member.size > packed.size() * kMaxRatio + kMaxRatio)
      return bad("a member declares more data than its bytes can contain");
    std::string out(std::min(most, member.size), '\0');
    if (!inflate_into(packed, out, out.size() == member.size))
      return bad("a compressed member is damaged");
    return out;
  }

  static uint32_t crc(llvm::StringRef bytes) {
    uLong value = crc32(0, nullptr, 0);
    while (!bytes.empty()) {
      auto size = static_cast<uInt>(std::min<size_t>(bytes.size(), 1u << 30));
      value = crc32(value, reinterpret_cast<const Bytef*>(bytes.data()), size);
      bytes = bytes.drop_front(size);
    }
    return static_cast<uint32_t>(value);
  }

private:
  Diagnostic bad(const char* what) const {
    return error(Code::bad_data_file, "`{0}` is not a readable .npz file: {1}", file_, what);
  }

  bool inside(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  uint64_t number(uint64_t at, size_t size) const { return read_little_endian(bytes_, at, size); }
  bool has(uint64_t at, size_t size, uint32_t signature) const {
    return inside(at, size) && number(at, 4) == signature;
  }

  /// The end record is the last one whose comment extends exactly to the end of the file.
  Result<void> find_directory() {
    if (!bytes_.startswith("PK")) return bad("it does not start like a zip archive");
    for (size_t back = kEndSize; back <= std::min(bytes_.size(), kEndSize + 0xffff); ++back) {
      uint64_t at = bytes_.size() - back;
      if (number(at, 4) != kEnd || number(at + 20, 2) != back - kEndSize) continue;
      count_ = number(at + 10, 2);
      uint64_t size = number(at + 12, 4);
      directory_ = number(at + 16, 4);
      if (count_ == 0xffff || size == kWide || directory_ == kWide) {
        if (at < kLocatorSize || !has(at - kLocatorSize, kLocatorSize, kEnd64Locator))
          return bad("its 64-bit directory is missing");
        uint64_t wide = number(at - kLocatorSize + 8, 8);
        if (!has(wide, kEnd64Size, kEnd64)) return bad("its 64-bit directory is missing");
        count_ = number(wide + 32, 8);
        size = number(wide + 40, 8);
        directory_ = number(wide + 48, 8);
      }
      if (!inside(directory_, size)) return bad("its directory is outside of the file");
      directory_end_ = directory_ + size;
      return {};
    }
    return bad("it has no directory at its end");
  }

  Result<void> read_entry(uint64_t& at, Member& member) {
    if (!has(at, kEntrySize, kDirectoryEntry)) return bad("its directory is damaged");
    uint64_t name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
    if (!inside(at + kEntrySize, name + extra + comment)) return bad("its directory is damaged");
    if (number(at + 8, 2) & 1) return bad("it is encrypted");
    member.method = static_cast<uint16_t>(number(at + 10, 2));
    if (member.method != kStored && member.method != kDeflated)
      return bad("a member is compressed by a method other than deflate");
    member.checksum = static_cast<uint32_t>(number(at + 16, 4));
    member.compressed = number(at + 20, 4);
    member.size = number(at + 24, 4);
    member.header = number(at + 42, 4);
    member.name = bytes_.substr(at + kEntrySize, name).str();
    if (!widen(bytes_.substr(at + kEntrySize + name, extra), member))
      return bad("a 64-bit size is missing");
    at += kEntrySize + name + extra + comment;
    return {};
  }

  /// Fields whose narrow form is saturated are in the extra field, in this order.
  static bool widen(llvm::StringRef extra, Member& member) {
    llvm::StringRef wide;
    while (extra.size() >= 4) {
      uint64_t id = read_little_endian(extra, 0, 2), size = read_little_endian(extra, 2, 2);
      if (size > extra.size() - 4) return false;
      if (id == kWideField) wide = extra.substr(4, size);
      extra = extra.drop_front(4 + size);
    }
    for (uint64_t* field : {&member.size, &member.compressed, &member.header}) {
      if (*field != kWide) continue;
      if (wide.size() < 8) return false;
      *field = read_little_endian(wide, 0, 8);
      wide = wide.drop_front(8);
    }
    return true;
  }

  Result<void> locate(Member& member) const {
    if (!has(member.header, kLocalSize, kLocalHeader))
      return bad("a member is not where it should be");
    uint64_t name = number(member.header + 26, 2), extra = number(member.header + 28, 2);
    member.data = member.header + kLocalSize + name + extra;
    if (!inside(member.data, member.compressed)) return bad("a member is outside of the file");
    if (bytes_.substr(member.header + kLocalSize, name) != member.name)
      return bad("a member has a different name in the directory");
    return {};
  }

  static bool check_apart(const std::vector<Member>& members) {
    std::vector<std::pair<uint64_t, uint64_t>> places;
    places.reserve(members.size());
    for (const Member& m : members) places.emplace_back(m.header, m.data + m.compressed);
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); ++i)
      if (places[i].first < places[i - 1].second) return false;
    return true;
  }

  /// Fills `out`; with `whole`, the data must end there.
  static bool inflate_into(llvm::StringRef packed, std::string& out, bool whole) {
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    constexpr size_t kStep = 1u << 30; // limit of the 32-bit counters
    size_t read = 0, written = 0;
    int state = Z_OK;
    while (state == Z_OK && (whole || written < out.size())) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
      auto in = static_cast<uInt>(std::min(packed.size() - read, kStep));
      auto room = static_cast<uInt>(std::min(out.size() - written, kStep));
      stream.avail_in = in;
      stream.avail_out = room;
      state = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      written += room - stream.avail_out;
    }
    inflateEnd(&stream);
    if (!whole) return (state == Z_OK || state == Z_STREAM_END) && written == out.size();
    return state == Z_STREAM_END && read == packed.size() && written == out.size();
  }

  llvm::StringRef bytes_, file_;
  uint64_t directory_ = 0, directory_end_ = 0, count_ = 0;
};

/// Appends the fields that the local header and the directory share:
/// version, flags, method, time, checksum, sizes.
void append_fields(std::string& bytes, uint32_t checksum, size_t name_size, size_t extra_size) {
  append_little_endian(bytes, 45, 2); // the version with 64-bit sizes
  append_little_endian(bytes, 0, 2);
  append_little_endian(bytes, kStored, 2);
  append_little_endian(bytes, 0, 2);
  append_little_endian(bytes, 0x21, 2); // 1980-01-01, as numpy: equal arrays are equal files
  append_little_endian(bytes, checksum, 4);
  append_little_endian(bytes, kWide, 4);
  append_little_endian(bytes, kWide, 4);
  append_little_endian(bytes, name_size, 2);
  append_little_endian(bytes, extra_size, 2);
}

std::string wide_field(std::initializer_list<uint64_t> values) {
  std::string field;
  append_little_endian(field, kWideField, 2);
  append_little_endian(field, 8 * values.size(), 2);
  for (uint64_t value : values) append_little_endian(field, value, 8);
  return field;
}

std::string directory_entry(const std::string& name, uint32_t checksum, uint64_t size,
                            uint64_t header) {
  std::string extra = wide_field({size, size, header}), entry;
  append_little_endian(entry, kDirectoryEntry, 4);
  append_little_endian(entry, 45, 2); // made by
  append_fields(entry, checksum, name.size(), extra.size());
  append_little_endian(entry, 0, 2); // comment
  append_little_endian(entry, 0, 2); // disk
  append_little_endian(entry, 0, 2); // attributes
  append_little_endian(entry, 0, 4);
  append_little_endian(entry, kWide, 4);
  return entry + name + extra;
}

std::string end_records(uint64_t members, uint64_t directory, uint64_t size) {
  std::string end;
  append_little_endian(end, kEnd64, 4);
  append_little_endian(end, kEnd64Size - 12, 8);
  append_little_endian(end, 45, 2);
  append_little_endian(end, 45, 2);
  append_little_endian(end, 0, 8); // disks
  for (uint64_t value : {members, members, size, directory}) append_little_endian(end, value, 8);
  append_little_endian(end, kEnd64Locator, 4);
  append_little_endian(end, 0, 4);
  append_little_endian(end, directory + size, 8);
  append_little_endian(end, 1, 4);
  append_little_endian(end, kEnd, 4);
  append_little_endian(end, 0, 4);
  append_little_endian(end, 0xffff, 2);
  append_little_endian(end, 0xffff, 2);
  append_little_endian(end, kWide, 4);
  append_little_endian(end, kWide, 4);
  append_little_endian(end, 0, 2);
  return end;
}

} // namespace

Result<std::vector<NamedTensor>> parse_npz(llvm::StringRef bytes, llvm::StringRef name,
                                           AcceptArray accept) {
  if (bytes.empty()) return error(Code::empty_file, "`{0}` is empty", name);
  Archive archive(bytes, name);
  TG_TRY(std::vector<Member> members, archive.members());
  std::vector<NamedTensor> tensors;
  for (const Member& member : members) {
    llvm::StringRef array = member.name;
    if (!array.consume_back(".npy"))
      return error(Code::bad_data_file, "`{0}` contains `{1}`, which is not an .npy file", name,
                   array);
    std::string member_name = (name + ":" + array).str();
    TG_TRY(std::string start, archive.start(member, kMaxNpyHeader));
    TG_TRY(NpyHeader header, parse_npy_header(start, member.size, member_name));
    if (header.type.dtype == DType::BF16) array.consume_back(kBitsOfBf16);
    if (accept) TG_CHECK(accept(array, header.type));
    TG_TRY(std::string contents, archive.contents(member));
    TG_TRY(Tensor tensor, parse_npy(contents, member_name));
    tensors.push_back({array.str(), std::move(tensor)});
  }
  return tensors;
}

Result<std::vector<NamedTensor>> read_npz(llvm::StringRef path, AcceptArray accept) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  llvm::StringRef bytes = file->getBuffer();
  Result<std::vector<NamedTensor>> arrays = parse_npz(bytes, path, accept);
  if (arrays || bytes.startswith("PK")) return arrays;
  Diagnostic bad = with_kind(std::move(arrays.error()), bytes, ".npz");
  if (kind_of_file(bytes) && kind_of_file(bytes)->ending == ".npy")
    bad.help = "give a single array with the name of its input: NAME=F.npy";
  return bad;
}

std::string format_npz(llvm::ArrayRef<NamedTensor> tensors) {
  std::string bytes, directory;
  for (const NamedTensor& named : tensors) {
    std::string name = named.name + ".npy", contents = format_npy(named.tensor);
    uint32_t checksum = Archive::crc(contents);
    std::string extra = wide_field({contents.size(), contents.size()});
    directory += directory_entry(name, checksum, contents.size(), bytes.size());
    append_little_endian(bytes, kLocalHeader, 4);
    append_fields(bytes, checksum, name.size(), extra.size());
    bytes += name;
    bytes += extra;
    bytes += contents;
  }
  std::string end = end_records(tensors.size(), bytes.size(), directory.size());
  return bytes + directory + end;
}

Result<void> write_npz(llvm::StringRef path, llvm::ArrayRef<NamedTensor> tensors) {
  return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << format_npz(tensors);
    return {};
  });
}

} // namespace tg
