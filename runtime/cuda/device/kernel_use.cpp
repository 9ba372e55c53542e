// The sections of a cubin, a 64-bit ELF file. `.nv.info` holds records of two kinds:
// of four bytes, and (format 4) with a size and contents. The latter include the registers
// and stack of a kernel, identified by its number in the symbol table.
// Shared memory is the size of the section `.nv.shared.NAME`.
#include "runtime/cuda/device/compile.h"

#include "lang/core/support/data_file.h"

namespace tg::cuda {

namespace {

constexpr uint8_t kSizedRecord = 4, kFrameSize = 0x11, kRegisters = 0x2f;
constexpr size_t kSectionHeader = 64, kSymbol = 24;

struct Section {
  llvm::StringRef name, content;
  uint64_t size = 0;
};

/// Never reads beyond the end: missing data reads as empty or 0.
class Elf {
public:
  explicit Elf(llvm::StringRef bytes) : bytes_(bytes) {}

  bool open() {
    if (bytes_.size() < 64 || !bytes_.startswith("\x7f"
                                                 "ELF\x02"))
      return false;
    uint64_t table = number(0x28, 8), count = number(0x3c, 2), names = number(0x3e, 2);
    if (number(0x3a, 2) != kSectionHeader) return false;
    llvm::StringRef strings = content(table + names * kSectionHeader);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t header = table + i * kSectionHeader;
      sections_.push_back(
          {text(strings, number(header, 4)), content(header), number(header + 0x20, 8)});
    }
    return true;
  }

  const Section* section(llvm::StringRef name) const {
    for (const Section& s : sections_)
      if (s.name == name) return &s;
    return nullptr;
  }

  /// Returns the number of a symbol; -1 if there is none.
  int64_t symbol(llvm::StringRef name) const {
    const Section *symbols = section(".symtab"), *strings = section(".strtab");
    if (!symbols || !strings) return -1;
    for (size_t at = 0; at + kSymbol <= symbols->content.size(); at += kSymbol)
      if (text(strings->content, read_little_endian(symbols->content, at, 4)) == name)
        return static_cast<int64_t>(at / kSymbol);
    return -1;
  }

private:
  uint64_t number(uint64_t at, size_t size) const {
    return at + size <= bytes_.size() && at + size >= at
               ? read_little_endian(bytes_, static_cast<size_t>(at), size)
               : 0;
  }
  llvm::StringRef content(uint64_t header) const {
    uint64_t offset = number(header + 0x18, 8), size = number(header + 0x20, 8);
    if (number(header + 4, 4) == 8 || offset > bytes_.size()) return {}; // 8: no bytes in the file
    return bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
  }
  static llvm::StringRef text(llvm::StringRef strings, uint64_t at) {
    if (at >= strings.size()) return {};
    return strings.drop_front(static_cast<size_t>(at)).take_until([](char c) { return c == 0; });
  }

  llvm::StringRef bytes_;
  std::vector<Section> sections_;
};

} // namespace

Result<KernelUse> kernel_use(const Cubin& cubin, llvm::StringRef kernel) {
  Elf elf(cubin);
  if (!elf.open()) return error(Code::device, "the compiled kernel is not machine code");
  int64_t symbol = elf.symbol(kernel);
  const Section* info = elf.section(".nv.info");
  if (symbol < 0 || !info)
    return error(Code::device, "the compiled kernel has no function {0}", kernel);
  KernelUse use;
  llvm::StringRef rest = info->content;
  while (rest.size() >= 4) {
    auto format = static_cast<uint8_t>(rest[0]), attribute = static_cast<uint8_t>(rest[1]);
    size_t size = format == kSizedRecord ? read_little_endian(rest, 2, 2) : 0;
    llvm::StringRef record = rest.substr(4, size);
    rest = rest.drop_front(std::min(rest.size(), 4 + size));
    if (record.size() < 8 || read_little_endian(record, 0, 4) != static_cast<uint64_t>(symbol))
      continue;
    auto value = static_cast<int>(read_little_endian(record, 4, 4));
    if (attribute == kRegisters) use.registers = value;
    if (attribute == kFrameSize) use.stack_bytes = value;
  }
  if (const Section* shared = elf.section((".nv.shared." + kernel).str()))
    use.shared_bytes = static_cast<int>(shared->size);
  return use;
}

} // namespace tg::cuda
