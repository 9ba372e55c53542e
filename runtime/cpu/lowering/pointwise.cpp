// Elementwise operators, and trees of them (fused_map), in one pass: the loop nest over the result
// is cut into blocks of about a thousand elements, and a small program of vector instructions runs
// over each block while it is in the first-level cache. An operand that is contiguous in a block is
// read in place; a broadcast or strided one is first staged into a block of scratch, and kept there
// as long as the next block needs the same (a per-channel factor is staged once).
// Registers are floats: f16, bf16 and bool are converted as they are staged, and back as the result
// is written. Values of f16 that are stored as f32 (Lowering::stored_dtype) are rounded to f16 in
// registers instead.
//
// Cost: a block instruction takes 0.04 ns per element on AVX-512, and 0.1 to 0.35 ns for exp
// to gelu. Reading and writing an element is 8 bytes of memory traffic, 0.1
// to 0.3 ns beyond the caches. So a chain costs one pass over memory instead
// of one per operator (DECISIONS.md has the figures).
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/simd.h"

#include "lang/core/formula.h"
#include "lang/core/fused_body.h"
#include "runtime/convert.h"

#include <bit>

namespace tg::cpu {

namespace {

constexpr int64_t kBlock = 1024; // elements: 4 KiB per register

/// Registers: operands first, then temporaries; kResult is the block of the result.
using Register = uint16_t;
constexpr Register kResult = UINT16_MAX;

struct MapInstr {
  Instr instr{};
  Register out = kResult, a = 0, b = 0, c = 0;
};

/// A number in a register, the same for every element.
struct MapLiteral {
  Register out;
  float value;
};

struct MapProgram {
  std::vector<MapInstr> code; // the last one, or two, write kResult
  size_t operands = 0, temporaries = 0;
  std::vector<MapLiteral> literals{}; // of temporaries that no instruction writes
};

/// Returns nullopt if the operator's formula is compiled instead (lang/core/formulas.h).
std::optional<Instr> pointwise_instr(OpKind op) {
  switch (op) {
  case OpKind::Identity: return Instr::Copy;
  case OpKind::Neg: return Instr::Neg;
  case OpKind::Relu: return Instr::Relu;
  case OpKind::Sigmoid: return Instr::Sigmoid;
  case OpKind::Tanh: return Instr::Tanh;
  case OpKind::Gelu: return Instr::Gelu;
  case OpKind::Exp: return Instr::Exp;
  case OpKind::Sqrt: return Instr::Sqrt;
  case OpKind::Erf: return Instr::Erf;
  case OpKind::Add: return Instr::Add;
  case OpKind::Sub: return Instr::Sub;
  case OpKind::Mul: return Instr::Mul;
  case OpKind::Div: return Instr::Div;
  case OpKind::Maximum: return Instr::Maximum;
  case OpKind::Minimum: return Instr::Minimum;
  case OpKind::Pow: return Instr::Pow;
  case OpKind::Mod: return Instr::Mod;
  case OpKind::Less: return Instr::Less;
  case OpKind::LessEqual: return Instr::LessEqual;
  case OpKind::Equal: return Instr::Equal;
  case OpKind::NotEqual: return Instr::NotEqual;
  case OpKind::LogicalAnd: return Instr::Mul;
  case OpKind::LogicalOr: return Instr::Or;
  case OpKind::LogicalNot: return Instr::Not;
  case OpKind::Select: return Instr::Select;
  case OpKind::Relu6: return Instr::Relu6;
  case OpKind::Abs: return Instr::Abs;
  case OpKind::Sign: return Instr::Sign;
  case OpKind::Floor: return Instr::Floor;
  case OpKind::Round: return Instr::Round;
  case OpKind::Log: return Instr::Log;
  case OpKind::Log1p: return Instr::Log1p;
  case OpKind::Expm1: return Instr::Expm1;
  case OpKind::Sin: return Instr::Sin;
  case OpKind::Cos: return Instr::Cos;
  case OpKind::Atan: return Instr::Atan;
  case OpKind::Rsqrt: return Instr::Rsqrt;
  case OpKind::Hardswish: return Instr::Hardswish;
  default: return std::nullopt;
  }
}

/// Returns nanoseconds per element, used only for the number of threads.
double instr_ns(Instr instr) {
  switch (instr) {
  case Instr::Exp: return 0.1;
  case Instr::Sigmoid:
  case Instr::Swish: return 0.14;
  case Instr::Tanh: return 0.22;
  case Instr::Erf: return 0.3;
  case Instr::Gelu: return 0.35;
  case Instr::Log: return 0.15;
  case Instr::Log1p: return 0.2;
  case Instr::Expm1:
  case Instr::Atan: return 0.15;
  case Instr::Sin:
  case Instr::Cos: return 0.3;
  case Instr::Mod: return 10;
  case Instr::Pow: return 15;
  default: return 0.05;
  }
}

/// Converts the post-order body to instructions, and operators without one to the instructions
/// of their formulas. A product whose only reader is a sum becomes one multiply-add:
/// products stay on the stack until their readers are known.
class BodyCompiler {
public:
  explicit BodyCompiler(size_t operands) { program_.operands = operands; }

  MapProgram compile(const FusedBody& body) {
    llvm::SmallVector<Entry, 8> stack;
    for (const FusedInstr& instr : body.code) {
      if (instr.is_operand) {
        stack.push_back(of(static_cast<Register>(instr.operand)));
        continue;
      }
      size_t arity = op_info(instr.op).operand_count;
      Entry result = apply(instr.op, llvm::makeArrayRef(stack).take_back(arity));
      stack.resize(stack.size() - arity);
      stack.push_back(result);
    }
    return finish(stack.back());
  }

  /// Compiles one operator over all operands, followed by attributes.
  MapProgram compile(OpKind op, llvm::ArrayRef<Value> attrs) {
    llvm::SmallVector<Entry, 4> args;
    for (size_t i = 0; i < program_.operands; ++i) args.push_back(of(static_cast<Register>(i)));
    for (const Value& attr : attrs) args.push_back(literal(attr.real));
    return finish(apply(op, args));
  }

private:
  struct Entry {
    bool product; // a * b, not computed yet; else the register a
    Register a, b;
  };

  static Entry of(Register r) { return {false, r, 0}; }

  MapProgram finish(const Entry& result) {
    Register last = value_of(result);
    if (program_.code.empty() || last < program_.operands) emit(Instr::Copy, last);
    program_.code.back().out = kResult;
    return std::move(program_);
  }

  Entry apply(OpKind op, llvm::ArrayRef<Entry> args) {
    if (op == OpKind::Mul) {
      Register a = value_of(args[0]), b = value_of(args[1]);
      if (swish_of(a, b)) std::swap(a, b);
      if (swish_of(b, a)) return of(make_swish(a));
      return {true, a, b};
    }
    if (op == OpKind::Add && (args[0].product || args[1].product)) {
      const Entry &product = args[0].product ? args[0] : args[1],
                  &other = args[0].product ? args[1] : args[0];
      return of(emit(Instr::MulAdd, product.a, product.b, value_of(other)));
    }
    std::optional<Instr> instr = pointwise_instr(op);
    if (!instr) return by_formula(*formula_of(op), args);
    llvm::SmallVector<Register, 3> from(3, 0);
    for (size_t i = 0; i < args.size(); ++i) from[i] = value_of(args[i]);
    return of(emit(*instr, from[0], from[1], from[2]));
  }

  /// Returns true if the last instruction computed y, the sigmoid of x, which has no other reader.
  bool swish_of(Register y, Register x) const {
    if (program_.code.empty() || y < program_.operands) return false;
    const MapInstr& last = program_.code.back();
    return last.instr == Instr::Sigmoid && last.out == y && last.a == x && x != y &&
           uses_[y - program_.operands] == 1;
  }
  /// Replaces it by x * sigmoid(x): one pass over the block.
  Register make_swish(Register x) {
    Register y = program_.code.back().out;
    program_.code.pop_back();
    release(y);
    return emit(Instr::Swish, x);
  }

  Entry by_formula(const Formula& formula, llvm::ArrayRef<Entry> args) {
    llvm::SmallVector<uint16_t, Formula::kMaxSteps> readers(formula.size(), 0);
    for (const FormulaStep& step : formula.steps())
      for (uint8_t i = 0; i < step.arity; ++i) ++readers[step.args[i]];
    llvm::SmallVector<Entry, Formula::kMaxSteps> values;
    for (const FormulaStep& step : formula.steps()) {
      llvm::SmallVector<Entry, 3> of_step;
      for (uint8_t i = 0; i < step.arity; ++i) of_step.push_back(values[step.args[i]]);
      bool argument = step.kind == FormulaStep::Kind::Argument;
      values.push_back(argument                                  ? args[values.size()]
                       : step.kind == FormulaStep::Kind::Literal ? literal(step.literal)
                                                                 : apply(step.op, of_step));
      if (uint16_t times = readers[values.size() - 1]; times > 1)
        values.back() = of(keep(value_of(values.back()), times - 1));
    }
    return values.back();
  }

  Entry literal(double value) {
    for (const MapLiteral& known : program_.literals)
      if (std::bit_cast<uint32_t>(known.value) ==
          std::bit_cast<uint32_t>(static_cast<float>(value)))
        return of(known.out); // 0 and -0 are different
    Register out = temporary();
    uses_.back() = kPinned;
    program_.literals.push_back({out, static_cast<float>(value)});
    return of(out);
  }

  Register value_of(const Entry& entry) {
    return entry.product ? emit(Instr::Mul, entry.a, entry.b) : entry.a;
  }

  /// Frees operand registers for the result: instructions may overwrite their operands.
  Register emit(Instr instr, Register a, Register b = 0, Register c = 0) {
    release(a);
    if (arity(instr) > 1) release(b);
    if (arity(instr) > 2) release(c);
    Register out = free_.empty() ? temporary() : free_.pop_back_val();
    uses_[out - program_.operands] = 1;
    program_.code.push_back({instr, out, a, b, c});
    return out;
  }

  Register temporary() {
    uses_.push_back(0);
    return static_cast<Register>(program_.operands + program_.temporaries++);
  }

  /// Adds `readers` readers.
  Register keep(Register r, uint16_t readers) {
    if (r >= program_.operands && uses_[r - program_.operands] != kPinned)
      uses_[r - program_.operands] += readers;
    return r;
  }

  void release(Register r) {
    if (r < program_.operands || uses_[r - program_.operands] == kPinned) return;
    if (--uses_[r - program_.operands] == 0) free_.push_back(r);
  }

  static constexpr uint16_t kPinned = UINT16_MAX; // a literal's: filled once for all blocks

  MapProgram program_;
  llvm::SmallVector<uint16_t, 8> uses_; // of temporaries: remaining reads
  llvm::SmallVector<Register, 8> free_;
};

/// Returns true if every result is an operand or a literal, but for its sign, and the dtype holds
/// the literals.
bool chooses_among(DType dtype, const MapProgram& program) {
  constexpr Instr kChoices[] = {Instr::Copy, Instr::Neg,     Instr::Relu,    Instr::Relu6,
                                Instr::Abs,  Instr::Maximum, Instr::Minimum, Instr::Select};
  auto held = [&](float x) {
    return x ==
           (dtype == DType::BF16 ? bf16_to_float(float_to_bf16(x)) : f16_to_float(float_to_f16(x)));
  };
  return llvm::all_of(program.literals,
                      [&](const MapLiteral& literal) { return held(literal.value); }) &&
         llvm::all_of(program.code, [&](const MapInstr& instr) {
           return llvm::is_contained(kChoices, instr.instr);
         });
}

/// How a block of an operand is found: see the head of this file.
struct Staged {
  const std::byte* base = nullptr;
  int64_t rows = 0, count = 0;
};

/// Read and write `count` elements, `step` apart, as floats. The dtypes are those
/// that floats represent.
void read_floats(DType dtype, const std::byte* from, int64_t step, float* to, int64_t count) {
  auto halves = reinterpret_cast<const uint16_t*>(from);
  switch (dtype) {
  case DType::BF16:
    if (step == 1) return simd().from_bf16(to, halves, count);
    for (int64_t i = 0; i < count; ++i) to[i] = bf16_to_float(halves[i * step]);
    return;
  case DType::F16:
    if (step == 1) return simd().from_f16(to, halves, count);
    for (int64_t i = 0; i < count; ++i) to[i] = f16_to_float(halves[i * step]);
    return;
  case DType::Bool:
    if (step == 1) return simd().from_bool(to, reinterpret_cast<const uint8_t*>(from), count);
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step] != std::byte{0} ? 1.0f : 0.0f;
    return;
  default:
    for (int64_t i = 0; i < count; ++i) to[i] = reinterpret_cast<const float*>(from)[i * step];
  }
}

void write_floats(DType dtype, const float* from, std::byte* to, int64_t step, int64_t count) {
  auto halves = reinterpret_cast<uint16_t*>(to);
  switch (dtype) {
  case DType::BF16:
    if (step == 1) return simd().to_bf16(halves, from, count);
    for (int64_t i = 0; i < count; ++i) halves[i * step] = float_to_bf16(from[i]);
    return;
  case DType::F16:
    if (step == 1) return simd().to_f16(halves, from, count);
    for (int64_t i = 0; i < count; ++i) halves[i * step] = float_to_f16(from[i]);
    return;
  case DType::Bool:
    if (step == 1) return simd().to_bool(reinterpret_cast<uint8_t*>(to), from, count);
    for (int64_t i = 0; i < count; ++i) to[i * step] = std::byte{from[i] != 0.0f};
    return;
  default:
    for (int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(to)[i * step] = from[i];
  }
}

class MapKernel final : public Kernel {
public:
  MapKernel(MapProgram program, std::vector<Place> places, const Threads& threads)
      : program_(std::move(program)), places_(std::move(places)), threads_(threads) {
    llvm::SmallVector<const Place*> all;
    for (const Place& p : places_) all.push_back(&p);
    outer_ = loops(all);
    inner_ = outer_.pop_back_val();
    rows_ = {1, llvm::SmallVector<int64_t, 4>(places_.size(), 0)};
    if (!outer_.empty()) rows_ = outer_.pop_back_val();
    copies_ = program_.code.size() == 1 && program_.code[0].instr == Instr::Copy;
    bool halves = llvm::all_of(places_, [](const Place& p) { return p.dtype == DType::BF16; });
    cuts_ = halves && chooses_among(DType::BF16, program_);
    piece_ = std::min(inner_.extent, kBlock);
    block_rows_ = std::clamp<int64_t>(kBlock / inner_.extent, 1, rows_.extent);
    pieces_ = (inner_.extent + piece_ - 1) / piece_;
    row_blocks_ = (rows_.extent + block_rows_ - 1) / block_rows_;
    blocks_ = pieces_ * row_blocks_;
    for (const Loop& loop : outer_) blocks_ *= loop.extent;
    by_rows_ = pays_by_rows();
    addresses_.resize(places_.size());
    workers_.resize(static_cast<size_t>(threads));
    for (Worker& w : workers_) {
      w.staged.resize(places_.size());
      w.registers.resize(registers());
    }
  }

  int64_t scratch_bytes() const {
    return threads_ * static_cast<int64_t>(registers()) * kBlock * dtype_size(DType::F32);
  }

  Result<void> bind(const Addresses& addresses) override {
    for (size_t i = 0; i < places_.size(); ++i) addresses_[i] = addresses.bytes(places_[i]);
    scratch_ = reinterpret_cast<float*>(addresses.scratch);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, blocks_, [&](int64_t begin, int64_t end, int part) {
      Worker& w = workers_[static_cast<size_t>(part)];
      std::fill(w.staged.begin(), w.staged.end(), Staged{});
      for (const MapLiteral& literal : program_.literals)
        simd().fill(scratch_block(part, literal.out), literal.value, kBlock);
      for (int64_t block = begin; block < end; ++block) run_block(w, part, block);
    });
    return dnnl_success;
  }

private:
  struct Worker {
    std::vector<Staged> staged;    // for places_: contents of its scratch block
    std::vector<float*> registers; // addresses for the current block; the last is the result's
  };

  /// The number of operands, temporaries and the result.
  size_t registers() const { return program_.operands + program_.temporaries + 1; }

  float* scratch_block(int part, size_t reg) const {
    return scratch_ + (static_cast<size_t>(part) * registers() + reg) * kBlock;
  }

  /// Returns true if a block of rows with gaps is computed in place, a row at a time:
  /// for programs with no more calls than the copies that would close the gaps.
  bool pays_by_rows() const {
    size_t gaps = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].dtype != DType::F32 || inner_.strides[i] != 1) return false;
      gaps += rows_.strides[i] != 0 && !contiguous(i, block_rows_);
    }
    return gaps >= program_.code.size();
  }

  void run_block(Worker& w, int part, int64_t block) {
    int64_t piece = block % pieces_ * piece_, rest = block / pieces_;
    int64_t row = rest % row_blocks_ * block_rows_;
    int64_t count = std::min(piece_, inner_.extent - piece);
    int64_t rows = std::min(block_rows_, rows_.extent - row);
    int64_t outer = rest / row_blocks_;
    if (by_rows_) return run_rows(w, part, outer, row, piece, rows, count);
    if (copies_) return copy_block(part, outer, row, piece, rows, count);
    for (size_t i = 1; i < places_.size(); ++i)
      w.registers[i - 1] = stage(w, part, i, address(i, outer, row, piece), rows, count);
    for (size_t t = program_.operands; t + 1 < registers(); ++t)
      w.registers[t] = scratch_block(part, t);
    std::byte* result = address(0, outer, row, piece);
    bool direct = contiguous(0, rows);
    w.registers.back() =
        direct ? reinterpret_cast<float*>(result) : scratch_block(part, registers() - 1);
    evaluate(w, rows * count);
    if (!direct) scatter(result, w.registers.back(), rows, count);
  }

  /// Copies in one pass if one of the two has the layout of registers.
  void copy_block(int part, int64_t outer, int64_t row, int64_t piece, int64_t rows,
                  int64_t count) const {
    std::byte *result = address(0, outer, row, piece), *from = address(1, outer, row, piece);
    if (contiguous(1, rows))
      return scatter(result, reinterpret_cast<const float*>(from), rows, count);
    if (contiguous(0, rows))
      return read_block(reinterpret_cast<float*>(result), 1, from, rows, count);
    float* block = scratch_block(part, 0);
    read_block(block, 1, from, rows, count);
    scatter(result, block, rows, count);
  }

  void run_rows(Worker& w, int part, int64_t outer, int64_t row, int64_t piece, int64_t rows,
                int64_t count) {
    auto of_place = [&](size_t place) -> float*& {
      return place == 0 ? w.registers.back() : w.registers[place - 1];
    };
    for (size_t t = program_.operands; t + 1 < registers(); ++t)
      w.registers[t] = scratch_block(part, t);
    for (size_t i = 0; i < places_.size(); ++i)
      of_place(i) = reinterpret_cast<float*>(address(i, outer, row, piece));
    for (int64_t r = 0; r < rows; ++r) {
      evaluate(w, count);
      for (size_t i = 0; i < places_.size(); ++i) of_place(i) += rows_.strides[i];
    }
  }

  std::byte* address(size_t place, int64_t outer, int64_t row, int64_t piece) const {
    int64_t offset = row * rows_.strides[place] + piece * inner_.strides[place];
    for (size_t i = outer_.size(); i-- > 0;) {
      offset += outer % outer_[i].extent * outer_[i].strides[place];
      outer /= outer_[i].extent;
    }
    return addresses_[place] + offset * dtype_size(places_[place].dtype);
  }

  /// Returns true for floats in the layout of registers.
  bool contiguous(size_t place, int64_t rows) const {
    return places_[place].dtype == DType::F32 &&
           (inner_.strides[place] == 1 || inner_.extent == 1) &&
           (rows == 1 || rows_.strides[place] == inner_.extent);
  }

  float* stage(Worker& w, int part, size_t place, std::byte* from, int64_t rows,
               int64_t count) const {
    if (contiguous(place, rows)) return reinterpret_cast<float*>(from);
    float* to = scratch_block(part, place - 1);
    Staged& staged = w.staged[place];
    if (staged.base == from && staged.rows >= rows && staged.count == count) return to;
    staged = {from, rows, count};
    read_block(to, place, from, rows, count);
    return to;
  }

  /// Rows without gaps between them are treated as one.
  bool dense(size_t place, int64_t rows, int64_t count) const {
    return rows > 1 && inner_.strides[place] == 1 && rows_.strides[place] == count;
  }

  void read_block(float* to, size_t place, const std::byte* from, int64_t rows,
                  int64_t count) const {
    if (dense(place, rows, count)) return read_block(to, place, from, 1, rows * count);
    DType dtype = places_[place].dtype;
    int64_t row_step = rows_.strides[place] * dtype_size(dtype), step = inner_.strides[place];
    if (step == 0 && dtype == DType::F32) {
      simd().spread(to, reinterpret_cast<const float*>(from), rows_.strides[place], rows, count);
      return;
    }
    for (int64_t r = 0; r < rows; ++r, from += row_step) {
      float* line = to + r * count;
      if (step == 0) {
        float value = 0;
        read_floats(dtype, from, 0, &value, 1);
        simd().fill(line, value, count);
      } else if (step == 1 && dtype == DType::F32) {
        const float* floats = reinterpret_cast<const float*>(from);
        simd().apply(Instr::Copy, line, floats, nullptr, nullptr, count);
      } else {
        read_floats(dtype, from, step, line, count);
      }
    }
  }

  void scatter(std::byte* to, const float* from, int64_t rows, int64_t count) const {
    if (dense(0, rows, count)) return scatter(to, from, 1, rows * count);
    DType dtype = places_[0].dtype;
    int64_t row_step = rows_.strides[0] * dtype_size(dtype), step = inner_.strides[0];
    for (int64_t r = 0; r < rows; ++r, to += row_step, from += count) {
      if (step == 1 && dtype == DType::F32)
        simd().apply(Instr::Copy, reinterpret_cast<float*>(to), from, nullptr, nullptr, count);
      else if (cuts_ && step == 1)
        simd().cut_to_bf16(reinterpret_cast<uint16_t*>(to), from, count);
      else
        write_floats(dtype, from, to, step, count);
    }
  }

  void evaluate(const Worker& w, int64_t count) const {
    auto at = [&](Register r) { return w.registers[r == kResult ? registers() - 1 : r]; };
    for (const MapInstr& i : program_.code)
      simd().apply(i.instr, at(i.out), at(i.a), at(i.b), at(i.c), count);
  }

  MapProgram program_;
  std::vector<Place> places_; // the result, then the operands, broadcast to its shape
  Threads threads_;
  llvm::SmallVector<Loop, 4> outer_;
  Loop rows_, inner_;
  int64_t piece_ = 0, block_rows_ = 0, pieces_ = 0, row_blocks_ = 0, blocks_ = 0;
  bool by_rows_ = false, copies_ = false;
  bool cuts_ = false; // results are bf16 already
  std::vector<std::byte*> addresses_;
  float* scratch_ = nullptr;
  std::vector<Worker> workers_;
};

/// Returns strides for the result: the axis order of a whole operand, channels last before others;
/// else its reader's preference.
Shape result_strides(const Lowering& l, const PlanStep& step) {
  const Shape& shape = l.type(step.result).shape;
  const Place* leader = nullptr;
  for (PlanValueId operand : step.operands) {
    const Place& p = l.place(operand);
    bool image = is_nhwc(p) && !is_plain(p);
    if (image && shape.size() == 4) return nhwc_strides(shape);
    if (p.shape == shape && !leader && !l.at_load(operand)) leader = &p;
  }
  if (leader && !is_plain(*leader)) return dense_like(*leader);
  return l.preferred_strides(step.result);
}

/// Returns the place from which the kernel reads an operand: its own if that suits the result's
/// innermost axis, else a copy in the result's order.
Result<Place> map_operand(Lowering& l, PlanValueId value, const Place& result) {
  const Place& p = l.place(value);
  Place spread = broadcast(p, result.shape);
  int64_t inner = axis_order(result).empty() ? -1 : axis_order(result).back();
  bool suits = inner < 0 || result.shape[static_cast<size_t>(inner)] == 1 ||
               spread.strides[static_cast<size_t>(inner)] <= 1 ||
               p.shape.size() != result.shape.size();
  if (suits) return spread;
  TG_TRY(Place copy, l.operand_as(value, dense_strides(p.shape, axis_order(result))));
  return broadcast(copy, result.shape);
}

Result<void> add_map(Lowering& l, const PlanStep& step, MapProgram program, const Place& result,
                     llvm::ArrayRef<Place> operands, llvm::StringRef name) {
  double ns = 0.1;
  for (const MapInstr& instr : program.code) ns += instr_ns(instr.instr);
  Op op = l.describe(step);
  op.implementation = (name + ":" + simd().isa).str();
  op.threads = l.threads_for(ns * static_cast<double>(result.elements()) / 1e3);
  std::vector<Place> places = {result};
  places.insert(places.end(), operands.begin(), operands.end());
  for (const Place& p : places) op.buffers.push_back(p.buffer);
  auto kernel = std::make_unique<MapKernel>(std::move(program), std::move(places), op.threads);
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

/// A copy through registers, which converts.
MapProgram copy_program() { return {{{Instr::Copy, kResult, 0}}, 1, 0, {}}; }

MapProgram program_of(const PlanStep& step) {
  BodyCompiler compiler(step.operands.size());
  if (step.op != OpKind::FusedMap) return compiler.compile(step.op, step.attrs);
  std::optional<FusedBody> body = parse_fused_body(attr(step, "body").text);
  assert(body && "type inference parses the body");
  return compiler.compile(*body);
}

/// Rounds operands and a result of f16 that are stored as f32: kernels of f32 leave more digits.
/// Operators that choose among numbers, as relu does, pass these on.
void round_wide_values(const Lowering& l, const PlanStep& step, MapProgram& program) {
  if (l.type(step.result).dtype == DType::F16 && chooses_among(DType::F16, program)) return;
  auto is_wide = [&](PlanValueId id) { return l.stored_dtype(id) != l.type(id).dtype; };
  std::vector<MapInstr> rounded;
  for (Register operand = 0; operand < program.operands; ++operand) {
    if (!is_wide(step.operands[operand])) continue;
    auto to = static_cast<Register>(program.operands + program.temporaries++);
    for (MapInstr& instr : program.code)
      for (Register* from : {&instr.a, &instr.b, &instr.c})
        if (*from == operand) *from = to;
    rounded.push_back({Instr::NearestF16, to, operand});
  }
  program.code.insert(program.code.begin(), rounded.begin(), rounded.end());
  if (is_wide(step.result)) program.code.push_back({Instr::NearestF16, kResult, kResult});
}

Result<void> lower_map(Lowering& l, const PlanStep& step, MapProgram program) {
  round_wide_values(l, step, program);
  Shape strides = result_strides(l, step);
  // Copies that operands need are made before the result may reuse one of their buffers.
  Place shape_only{kNoBuffer, 0, l.type(step.result).shape, strides};
  std::vector<Place> operands;
  for (PlanValueId operand : step.operands) {
    TG_TRY(Place p, map_operand(l, operand, shape_only));
    operands.push_back(p);
  }
  std::optional<Place> result = l.take_over(step, strides, true);
  if (!result) result = l.new_result(step, strides, true);
  return add_map(l, step, std::move(program), *result, operands,
                 step.op == OpKind::FusedMap ? "fused_map" : "map");
}

} // namespace

Result<void> lower_pointwise(Lowering& l, const PlanStep& step) {
  return lower_map(l, step, program_of(step));
}

// Between dtypes that floats represent, it is a copy through registers;
// otherwise it runs by the definition.
Result<void> lower_cast(Lowering& l, const PlanStep& step) {
  DType from = l.type(step.operands[0]).dtype, to = l.type(step.result).dtype;
  bool narrow_bool = to == DType::Bool && from != DType::Bool; // a NaN is true here, too
  if (!floats_hold(from) || !floats_hold(to) || narrow_bool) return lower_reference(l, step);
  return lower_map(l, step, copy_program());
}

void add_conversion(Lowering& l, const Place& from, const Place& to, Phase phase) {
  Op op;
  op.name = "convert";
  op.implementation = std::string("map:") + simd().isa;
  op.result = TensorType{to.dtype, to.shape}.text();
  op.bytes = static_cast<double>(from.elements() * (dtype_size(from.dtype) + dtype_size(to.dtype)));
  op.threads = l.threads_for(op.bytes / 20e3, phase);
  op.buffers = {from.buffer, to.buffer};
  auto kernel =
      std::make_unique<MapKernel>(copy_program(), std::vector<Place>{to, from}, op.threads);
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(phase, std::move(op));
}

Place as_floats(Lowering& l, Phase phase, const Place& place) {
  if (place.dtype == DType::F32) return place;
  if (l.at_load(place)) phase = Phase::Load;
  Place wide = l.new_temporary(place.shape, contiguous_strides(place.shape), phase);
  add_conversion(l, place, wide, phase);
  return wide;
}

namespace {

/// Computes factor = scale / sqrt(var + eps) in float64.
class BatchNormFactor final : public Kernel {
public:
  /// Operands: scale, var; then factor; all along one channel axis.
  BatchNormFactor(std::array<Place, 3> places, double eps)
      : places_(std::move(places)), eps_(eps) {}
  Result<void> bind(const Addresses& addresses) override {
    for (size_t i = 0; i < places_.size(); ++i) at_[i] = addresses.of(places_[i]);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    for (int64_t c = 0; c < places_[0].shape[0]; ++c) {
      auto read = [&](size_t i) { return static_cast<double>(at_[i][c * places_[i].strides[0]]); };
      at_[2][c] = static_cast<float>(read(0) / std::sqrt(read(1) + eps_));
    }
    return dnnl_success;
  }

private:
  std::array<Place, 3> places_;
  double eps_;
  std::array<float*, 3> at_{};
};

/// A vector along axis 1 of this shape.
Place along_channels(const Place& vector, const Shape& shape) {
  Place p{vector.buffer, vector.offset, shape, Shape(shape.size(), 0)};
  p.strides[1] = vector.strides[0];
  return p;
}

} // namespace

// Computes (x - mean) * factor + bias, with factors computed at load if scale and variance
// are known then. The mean is not folded into the bias: infinite values would cancel (x * inf -
// mean * inf), and large ones would lose digits.
Result<void> lower_batch_norm(Lowering& l, const PlanStep& step) {
  auto channels = [&](llvm::StringRef name) {
    return as_floats(l, step.phase, l.place(operand(step, name)));
  };
  Place scale = channels("scale"), bias = channels("bias"), mean = channels("mean");
  Place var = channels("var");
  bool at_load = l.at_load(scale) && l.at_load(var);
  Phase phase = at_load ? Phase::Load : step.phase;
  Place factor = l.new_temporary(scale.shape, {1}, phase);
  Op fold;
  fold.name = "fold batch_norm";
  fold.implementation = "scalar";
  fold.buffers = {scale.buffer, var.buffer, factor.buffer};
  fold.kernel = std::make_unique<BatchNormFactor>(std::array<Place, 3>{scale, var, factor},
                                                  attr(step, "eps").real);
  l.add_op(phase, std::move(fold));

  const Place x = l.place(step.operands[0]);
  Shape strides = is_dense(x) ? x.strides : contiguous_strides(x.shape);
  TG_TRY(Place source, l.operand_as(step.operands[0], strides));
  std::optional<Place> result = l.take_over(step, strides, true);
  if (!result) result = l.new_result(step, strides, true);
  constexpr Register kDistance = 4; // after the operands
  MapProgram program{
      {{Instr::Sub, kDistance, 0, 1}, {Instr::MulAdd, kResult, kDistance, 2, 3}}, 4, 1, {}};
  auto along = [&](const Place& vector) { return along_channels(vector, x.shape); };
  return add_map(l, step, std::move(program), *result,
                 {source, along(mean), along(factor), along(bias)}, "affine");
}

} // namespace tg::cpu
