#include "runtime/cuda/codegen/generate.h"

#include "runtime/cuda/codegen/source_pass.h"

#include "lang/core/formula.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <set>

namespace tg::cuda {

namespace {

/// Writes the loops around the passes.
class BodyWriter {
public:
  explicit BodyWriter(Kernel& kernel) : kernel_(kernel), out_(text_) {}

  std::string write() {
    out_ << "  typedef " << (kernel_.wide_indices ? "long long" : "int") << " tg_index;\n";
    switch (kernel_.schedule) {
    case KernelSchedule::Map: map(); break;
    case KernelSchedule::Rows:
    case KernelSchedule::Columns: rows(); break;
    case KernelSchedule::Serial: serial(); break;
    case KernelSchedule::Tiles: tiles(); break;
    }
    return out_.str();
  }

private:
  void store_all(PassWriter& pass, bool per_row) {
    for (const Store& store : kernel_.stores)
      if (store.per_row == per_row) pass.store(store);
  }

  void grid_loop() {
    out_ << llvm::formatv("  TG_THREADS_BEGIN\n"
                          "  for (tg_index v0 = (tg_index)TG_BLOCK * {0} + TG_THREAD; v0 < {1}; "
                          "v0 += (tg_index)TG_BLOCKS * {0}) {{\n",
                          kernel_.tunables.threads, kernel_.iterations);
  }

  void map() {
    grid_loop();
    PassWriter pass(kernel_, none_, "    ", out_);
    pass.compute(roots_of(kernel_, {{}, true}), {});
    store_all(pass, false);
    out_ << "  }\n  TG_THREADS_END\n";
  }

  void serial() {
    Phases phases = plan_phases(kernel_);
    grid_loop();
    for (const Pass& phase : phases.passes) {
      bool once = phase.stores && kernel_.stores[0].per_row;
      for (uint32_t s : phase.stages)
        out_ << "    " << scalar_name(kernel_.stages[s].scalar) << " s" << s << " = "
             << identity(kernel_.stages[s]) << ";\n";
      out_ << (once ? "    {\n"
                    : llvm::formatv("    for (tg_index v1 = 0; v1 < {0}; ++v1) {{\n", kernel_.row)
                          .str());
      PassWriter pass(kernel_, none_, "      ", out_);
      pass.compute(roots_of(kernel_, phase), {});
      accumulate(pass, phase);
      if (phase.stores) store_all(pass, once);
      out_ << "    }\n";
    }
    out_ << "  }\n  TG_THREADS_END\n";
  }

  /// While a thread sums the terms in shared memory, its loads of the next terms are in flight.
  void tiles() {
    const Tunables& t = kernel_.tunables;
    int64_t share = (kernel_.row + t.splits - 1) / t.splits;
    share = (share + t.depth - 1) / t.depth * t.depth;
    out_ << llvm::formatv(
        "  TG_SHARED(float, left, {0});\n  TG_SHARED(float, right, {1});\n"
        "  const tg_index rank = TG_BLOCK % TG_RANKS({2});\n"
        "  const tg_index begin = rank * {3}, beyond = TG_RANKS({2}) == 1 ? {4} : begin + {3};\n"
        "  const tg_index end = beyond < {4} ? beyond : {4};\n"
        "  for (tg_index tile = TG_BLOCK / TG_RANKS({2}); tile < {5}; tile += TG_BLOCKS / "
        "TG_RANKS({2})) {{\n",
        t.depth * padded(t.tile_rows), t.depth * padded(t.tile_columns), t.splits, share,
        kernel_.row, kernel_.tiles());
    out_ << llvm::formatv(
        "    const tg_index v0 = tile / {0}, first2 = tile / {1} % {2} * {3}, first3 = tile % {1} "
        "* "
        "{4};\n"
        "    TG_ARRAY(float, sum, {5});\n"
        "    TG_ARRAY(float, next_left, {6});\n"
        "    TG_ARRAY(float, next_right, {7});\n"
        "    TG_THREADS_BEGIN\n"
        "    TG_UNROLL for (int i = 0; i < {5}; ++i) TG_AT(sum)[i] = 0.0f;\n"
        "    TG_THREADS_END\n"
        "    for (tg_index first1 = begin - {8}; first1 < end; first1 += {8}) {{\n"
        "      TG_THREADS_BEGIN\n",
        kernel_.tiles_down() * kernel_.tiles_across(), kernel_.tiles_across(), kernel_.tiles_down(),
        t.tile_rows, t.tile_columns, t.own_rows * t.own_columns, elements_per_load(t.tile_rows),
        elements_per_load(t.tile_columns), t.depth);
    Side left{"left", kernel_.left, 2, kernel_.rows, t.tile_rows},
        right{"right", kernel_.right, 3, kernel_.columns, t.tile_columns};
    load_registers(left);
    load_registers(right);
    sum_terms();
    out_ << "      TG_THREADS_END\n      TG_BARRIER;\n      TG_THREADS_BEGIN\n";
    store_registers(left);
    store_registers(right);
    out_ << "      TG_THREADS_END\n      TG_BARRIER;\n    }\n";
    if (t.splits > 1) {
      out_ << "#if TG_CLUSTERS\n";
      store_tile_of_cluster();
      out_ << "#else\n";
    }
    store_tile();
    if (t.splits > 1) out_ << "#endif\n";
    out_ << "  }\n";
  }

  /// The threads of a tile form rows of this length.
  int threads_across() const {
    return kernel_.tunables.tile_columns / kernel_.tunables.own_columns;
  }

  /// The stride between terms in shared memory: it keeps a thread's elements 16-byte aligned
  /// and spreads terms over banks.
  static int padded(int tile) { return tile + 4; }

  /// The number of elements of a factor that a thread loads at a time.
  int elements_per_load(int tile) const {
    const Tunables& t = kernel_.tunables;
    return (t.depth * tile + t.threads - 1) / t.threads;
  }

  /// The minimum number of threads that read neighbours: a memory sector.
  static constexpr int kLeastNeighbours = 8;

  /// A factor and the place of its tile.
  struct Side {
    const char* name;
    ExprId factor;
    int variable;
    int64_t extent;
    int tile;
  };

  /// The loop over the elements of a factor that a thread loads: `term` and `place` of each.
  /// If possible, a thread's elements belong to one term, because indices along the terms need
  /// divisions, and neighbouring threads read neighbours in memory.
  void each_brought(const Side& side) {
    const Tunables& t = kernel_.tunables;
    int count = elements_per_load(side.tile), across = side.tile / count;
    bool along = steps_by_one(side.factor, side.variable);
    bool one_term = count * t.threads == t.depth * side.tile && across * count == side.tile &&
                    across >= kLeastNeighbours;
    out_ << llvm::formatv("      TG_UNROLL for (int e = 0; e < {0}; ++e) {{\n"
                          "        const int i = TG_THREAD + e * {1};\n",
                          count, t.threads);
    if (along && one_term)
      out_ << llvm::formatv(
          "        const int term = TG_THREAD / {0}, place = TG_THREAD % {0} + e * {0};\n", across);
    else if (along)
      out_ << llvm::formatv("        const int term = i / {0}, place = i % {0};\n", side.tile);
    else
      out_ << llvm::formatv("        const int term = i % {0}, place = i / {0};\n", t.depth);
  }

  /// Loads the elements of the next terms into registers.
  void load_registers(const Side& side) {
    int depth = kernel_.tunables.depth;
    each_brought(side);
    out_ << llvm::formatv("        const tg_index v1 = first1 + {0} + term, v{1} = first{1} + "
                          "place;\n"
                          "        float value = 0.0f;\n"
                          "        if (i < {2} && v1 < end && v{1} < {3}) {{\n",
                          depth, side.variable, depth * side.tile, side.extent);
    PassWriter pass(kernel_, none_, "          ", out_);
    pass.compute({side.factor}, {});
    pass.line() << "value = " << pass.value(side.factor) << ";\n";
    out_ << llvm::formatv("        }\n        TG_AT(next_{0})[e] = value;\n      }\n", side.name);
  }

  /// Stores registers to shared memory.
  void store_registers(const Side& side) {
    each_brought(side);
    out_ << llvm::formatv("        if (i < {0}) {1}[term * {2} + place] = "
                          "TG_AT(next_{1})[e];\n      }\n",
                          kernel_.tunables.depth * side.tile, side.name, padded(side.tile));
  }

  /// Returns true if some element that the factor reads has its memory neighbour
  /// at the next value of `variable`.
  bool steps_by_one(ExprId factor, int variable) const {
    for (ExprId id : reachable(kernel_, {factor}, {})) {
      const Expr& expr = kernel_.exprs[id];
      if (expr.kind != Expr::Kind::Load) continue;
      for (const IndexTerm& term : kernel_.indices.form(expr.index).terms) {
        IndexId of = kernel_.indices.atom(term.atom).of;
        IndexAtom::Kind kind = kernel_.indices.atom(term.atom).kind;
        if (term.factor != 1) continue;
        if (kind == IndexAtom::Kind::Variable && of == static_cast<IndexId>(variable)) return true;
        if (kind == IndexAtom::Kind::Remainder &&
            (kernel_.indices.form(of).variables >> variable & 1))
          return true;
      }
    }
    return false;
  }

  void sum_terms() {
    const Tunables& t = kernel_.tunables;
    out_ << llvm::formatv(
        "      const int down = TG_THREAD / {0}, across = TG_THREAD % {0};\n"
        "      if (first1 >= begin) {{\n"
        "        TG_UNROLL for (int term = 0; term < {1}; ++term) {{\n"
        "          float a[{2}], b[{3}];\n"
        "          TG_UNROLL for (int i = 0; i < {2}; ++i) a[i] = left[term * {4} "
        "+ down * {2} + i];\n"
        "          TG_UNROLL for (int j = 0; j < {3}; ++j) b[j] = right[term * "
        "{5} + across * {3} + j];\n"
        "          TG_UNROLL for (int i = 0; i < {2}; ++i)\n"
        "            TG_UNROLL for (int j = 0; j < {3}; ++j) TG_AT(sum)[i * {3} "
        "+ j] += a[i] * b[j];\n"
        "        }\n"
        "      }\n",
        threads_across(), t.depth, t.own_rows, t.own_columns, padded(t.tile_rows),
        padded(t.tile_columns));
  }

  void store_tile() {
    const Tunables& t = kernel_.tunables;
    out_ << llvm::formatv(
        "    TG_THREADS_BEGIN\n"
        "    const int down = TG_THREAD / {0}, across = TG_THREAD % {0};\n"
        "    TG_UNROLL for (int i = 0; i < {1}; ++i)\n"
        "      TG_UNROLL for (int j = 0; j < {2}; ++j) {{\n"
        "        const tg_index v2 = first2 + down * {1} + i, v3 = first3 + across * {2} + j;\n"
        "        if (v2 >= {3} || v3 >= {4}) continue;\n"
        "        const float s0 = TG_AT(sum)[i * {2} + j];\n",
        threads_across(), t.own_rows, t.own_columns, kernel_.rows, kernel_.columns);
    store_result();
    out_ << "      }\n    TG_THREADS_END\n";
  }

  /// Each block writes its sums, adds all blocks' sums for its part of the tile,
  /// always in the same order, and stores the result. No block continues while another still reads.
  void store_tile_of_cluster() {
    const Tunables& t = kernel_.tunables;
    int results = t.tile_rows * t.tile_columns;
    out_ << llvm::formatv(
        "    TG_SHARED(float, part, {0});\n"
        "    const int down = TG_THREAD / {1}, across = TG_THREAD % {1};\n"
        "    TG_UNROLL for (int i = 0; i < {2}; ++i)\n"
        "      TG_UNROLL for (int j = 0; j < {3}; ++j)\n"
        "        part[(down * {2} + i) * {4} + across * {3} + j] = sum[i * {3} + j];\n"
        "    TG_CLUSTER_BARRIER;\n"
        "    for (int i = TG_THREAD; i < {5}; i += {6}) {{\n"
        "      const int at = rank * {5} + i;\n"
        "      const tg_index v2 = first2 + at / {4}, v3 = first3 + at % {4};\n"
        "      if (v2 < {7} && v3 < {8}) {{\n"
        "        float s0 = 0.0f;\n"
        "        TG_UNROLL for (int other = 0; other < {9}; ++other) s0 += tg_of_rank(part + at, "
        "other);\n",
        results, threads_across(), t.own_rows, t.own_columns, t.tile_columns, results / t.splits,
        t.threads, kernel_.rows, kernel_.columns, t.splits);
    store_result();
    out_ << "      }\n    }\n    TG_CLUSTER_BARRIER;\n";
  }

  /// Stores the result of the sum s0.
  void store_result() {
    PassWriter pass(kernel_, none_, "        ", out_);
    pass.compute(roots_of(kernel_, {{}, true}), {});
    store_all(pass, true);
  }

  void accumulate(PassWriter& pass, const Pass& phase) {
    for (uint32_t s : phase.stages)
      for (ExprId value : kernel_.stages[s].values)
        pass.line() << "s" << s << " = tg_" << reduce_name(kernel_.stages[s].op) << "(s" << s
                    << ", " << pass.value(value) << ");\n";
  }

  void rows() {
    const Tunables& t = kernel_.tunables;
    Phases phases = plan_phases(kernel_);
    const std::set<ExprId>& kept = t.kept > 0 ? phases.kept : none_;
    out_ << llvm::formatv("  for (tg_index first = (tg_index)TG_BLOCK * {0}; first < {1}; "
                          "first += (tg_index)TG_BLOCKS * {0}) {{\n",
                          kernel_.rows_per_block(), kernel_.iterations);
    for (size_t s = 0; s < kernel_.stages.size(); ++s)
      out_ << "    TG_VARIABLE(" << scalar_name(kernel_.stages[s].scalar) << ", s" << s << ");\n";
    for (ExprId id : kept)
      out_ << "    TG_ARRAY(" << scalar_name(kernel_.exprs[id].scalar) << ", k" << id << ", "
           << t.kept << ");\n";
    std::set<ExprId> computed;
    for (const Pass& phase : phases.passes) {
      row_pass(phase, kept, computed);
      for (uint32_t s : phase.stages)
        out_ << "    " << (columns() ? "TG_REDUCE_APART(" : "TG_REDUCE(")
             << reduce_name(kernel_.stages[s].op) << ", s" << s << ", "
             << (columns() ? std::to_string(kernel_.rows_per_block()) + ", " : "") << t.row_threads
             << ");\n";
    }
    out_ << "  }\n";
  }

  bool columns() const { return kernel_.schedule == KernelSchedule::Columns; }
  /// Returns the thread's row within the block, and its part of the row.
  std::string own_row() const {
    if (columns()) return "TG_THREAD % " + std::to_string(kernel_.rows_per_block());
    return "TG_THREAD / " + std::to_string(kernel_.tunables.row_threads);
  }
  std::string own_part() const {
    if (columns()) return "TG_THREAD / " + std::to_string(kernel_.rows_per_block());
    return "TG_THREAD % " + std::to_string(kernel_.tunables.row_threads);
  }

  void row_pass(const Pass& phase, const std::set<ExprId>& kept, std::set<ExprId>& computed) {
    const Tunables& t = kernel_.tunables;
    bool once = phase.stores && kernel_.stores[0].per_row;
    out_ << "    TG_THREADS_BEGIN\n";
    out_ << llvm::formatv("    const tg_index v0 = first + {0};\n", own_row());
    for (uint32_t s : phase.stages)
      out_ << "    " << scalar_name(kernel_.stages[s].scalar) << " part" << s << " = "
           << identity(kernel_.stages[s]) << ";\n";
    out_ << llvm::formatv("    if (v0 < {0}) {{\n", kernel_.iterations);
    if (once)
      out_ << llvm::formatv("      if ({0} == 0) {{\n", own_part());
    else if (t.kept > 0)
      out_ << llvm::formatv("      TG_UNROLL for (int step = 0; step < {0}; ++step) {{\n"
                            "        const tg_index v1 = step * {1} + {2};\n",
                            t.kept, t.row_threads, own_part())
           << (kernel_.row % t.row_threads == 0
                   ? ""
                   : llvm::formatv("        if (v1 >= {0}) continue;\n", kernel_.row).str());
    else
      out_ << llvm::formatv("      for (tg_index v1 = {0}; v1 < {1}; v1 += {2}) {{\n", own_part(),
                            kernel_.row, t.row_threads);
    PassWriter pass(kernel_, kept, "        ", out_);
    pass.stages_as("TG_AT(s{0})");
    auto roots = roots_of(kernel_, phase);
    std::set<ExprId> available;
    for (ExprId id : kept)
      if (computed.count(id)) available.insert(id);
    pass.compute(roots, available);
    for (ExprId id : reachable(kernel_, roots, available)) computed.insert(id);
    for (uint32_t s : phase.stages)
      for (ExprId value : kernel_.stages[s].values)
        pass.line() << "part" << s << " = tg_" << reduce_name(kernel_.stages[s].op) << "(part" << s
                    << ", " << pass.value(value) << ");\n";
    if (phase.stores) store_all(pass, once);
    out_ << "      }\n    }\n";
    for (uint32_t s : phase.stages) out_ << "    TG_AT(s" << s << ") = part" << s << ";\n";
    out_ << "    TG_THREADS_END\n";
  }

  Kernel& kernel_;
  std::set<ExprId> none_;
  std::string text_;
  llvm::raw_string_ostream out_;
};

/// FNV-1a, 64 bits: the same on every machine.
uint64_t hash(llvm::StringRef text) {
  uint64_t h = 1469598103934665603u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

llvm::StringRef storage_name(DType dtype) {
  return dtype == DType::Bool ? "boolean" : dtype_name(dtype);
}

/// Returns the arguments of `__launch_bounds__`.
std::string bounds_text(const KernelSource& source) {
  std::string text = std::to_string(source.threads);
  if (source.blocks_at_once > 0) text += ", " + std::to_string(source.blocks_at_once);
  return text;
}

/// A thread of a tile keeps its results, its factors and its next loads in registers.
/// By default the compiler aims at more threads than fit and spills.
/// This limit gives each thread 128 registers, or 168 if it loads much.
int blocks_of_tiles_at_once(const Tunables& t) {
  constexpr int kThreads = 512, kThreadsThatBringMuch = 384, kMuch = 16;
  int brings = t.depth * (t.tile_rows + t.tile_columns) / t.threads;
  return std::max(1, (brings > kMuch ? kThreadsThatBringMuch : kThreads) / t.threads);
}

} // namespace

KernelSource kernel_source(Kernel& kernel) {
  KernelSource source;
  source.threads = kernel.tunables.threads;
  for (const KernelParameter& p : kernel.parameters)
    source.parameters += (source.parameters.empty() ? "" : ", ") +
                         (p.written ? std::string() : "const ") + "tg_" +
                         storage_name(p.dtype).str() + "*";
  source.body = BodyWriter(kernel).write();
  if (kernel.schedule == KernelSchedule::Tiles) {
    source.blocks_at_once = blocks_of_tiles_at_once(kernel.tunables);
    source.cluster = kernel.tunables.splits;
  }
  static const std::string functions = std::to_string(hash(prelude_text()));
  uint64_t digest =
      hash(functions + "|" + source.parameters + "|" + bounds_text(source) + "|" + source.body);
  source.name = "tg_" + llvm::utohexstr(digest, /*LowerCase=*/true, /*Width=*/16);
  return source;
}

std::string function_text(const KernelSource& source) {
  llvm::SmallVector<llvm::StringRef, 16> types;
  llvm::StringRef(source.parameters).split(types, ", ");
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "extern \"C\" __global__ ";
  if (source.cluster > 1) out << "TG_CLUSTER(" << source.cluster << ") ";
  out << "void __launch_bounds__(" << bounds_text(source) << ") " << source.name << "(";
  for (size_t i = 0; i < types.size(); ++i)
    out << (i ? ", " : "") << types[i] << " __restrict__ p" << i;
  out << ") {\n" << source.body << "}\n";
  return out.str();
}

namespace {

constexpr const char* kCommonPrelude =
#include "runtime/cuda/codegen/prelude.cuh.inc"
    ;

/// Writes the functions of operators that have a formula but no function in `given`,
/// each after the functions that it calls.
class FormulaWriter {
public:
  explicit FormulaWriter(llvm::StringRef given) : given_(given) {}
  std::string write() {
    for (const OpInfo& info : all_ops()) add(info);
    return std::move(text_);
  }

private:
  void add(const OpInfo& info) {
    const Formula* formula = formula_of(info.kind);
    if (!formula || given_.contains(call(info.kind)) || !done_.insert(info.kind).second) return;
    for (const FormulaStep& step : formula->steps())
      if (step.kind == FormulaStep::Kind::Apply) add(op_info(step.op));
    text_ += function(info, *formula, "float");
    if (!info.has(Trait::Floating)) text_ += function(info, *formula, "long long");
  }

  static std::string function(const OpInfo& info, const Formula& formula, const std::string& type) {
    std::string parameters, body, name;
    for (size_t i = 0; i < formula.size(); ++i) {
      const FormulaStep& step = formula[i];
      name = "v" + std::to_string(i);
      switch (step.kind) {
      case FormulaStep::Kind::Argument: parameters += (i ? ", " : "") + type + " " + name; break;
      case FormulaStep::Kind::Literal:
        body += "  const " + type + " " + name + " = " + Value::of_float(step.literal).text_form() +
                ";\n";
        break;
      case FormulaStep::Kind::Apply: body += "  const auto " + name + " = " + applied(step) + ";\n";
      }
    }
    return "TG_FUNCTION auto " + call(info.kind) + parameters + ") {\n" + body + "  return " +
           name + ";\n}\n";
  }

  static std::string call(OpKind op) { return "tg_" + std::string(op_info(op).name) + "("; }

  static std::string applied(const FormulaStep& step) {
    std::string text = call(step.op);
    for (uint8_t i = 0; i < step.arity; ++i)
      text += (i ? ", v" : "v") + std::to_string(step.args[i]);
    return text + ")";
  }

  llvm::StringRef given_;
  std::set<OpKind> done_;
  std::string text_;
};

} // namespace

llvm::StringRef device_macros() {
  return
#include "runtime/cuda/codegen/prelude_device.cuh.inc"
      ;
}

std::string prelude_text(llvm::StringRef macros) {
  std::string given = macros.str() + kCommonPrelude;
  return given + FormulaWriter(given).write();
}

} // namespace tg::cuda
