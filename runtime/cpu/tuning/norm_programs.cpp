// Maps programs to schedules of norms, and checks legality.
#include "runtime/cpu/tuning/norm_programs.h"

#include "runtime/cpu/tile/convolution.h"
#include "runtime/cpu/tuning/loops.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <bit>

namespace tg::cpu {

namespace {

using tile::ceil_div;

int64_t power_below(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}

/// Rounds up a row to a number of vectors with many divisors.
tune::Operator norm_operator(const NormShape& shape) {
  int64_t lanes = norm_table().lanes;
  tune::Operator op;
  op.type = tune::OpType::FRB;
  op.space = {smooth_from(shape.rows)};
  op.reduction = {1, lanes * smooth_from(ceil_div(shape.length, lanes))};
  return op;
}

NormShape norm_of(const tune::Operator& op) {
  int64_t length = tune::product(op.reduction);
  return {op.space[0], length, length, true};
}

class NormImplementation final : public Implementation {
public:
  NormImplementation(const NormShape& shape, const NormSchedule& schedule, int threads, Runs& runs)
      : shape_(shape), schedule_(schedule), threads_(threads), runs_(runs) {}
  Result<double> run() override {
    int64_t step = std::max(shape_.row_step, shape_.rows > 1 ? int64_t{0} : shape_.length);
    RunExtents need;
    need.x = (shape_.rows - 1) * step + shape_.length;
    need.y = shape_.rows;
    need.scratch = 2 * norm_scratch_doubles(shape_, schedule_);
    return runs_.run(need, [&](const RunPlaces& at) {
      run_norms(norm_table(), shape_, schedule_, runs_.threads(threads_), at.x, at.y, 1,
                reinterpret_cast<double*>(at.scratch));
    });
  }

private:
  NormShape shape_;
  NormSchedule schedule_;
  int threads_;
  Runs& runs_;
};

} // namespace

NormPrograms::NormPrograms(const NormShape& shape, int threads)
    : OperatorPrograms(norm_operator(shape), threads), shape_(shape), lanes_(norm_table().lanes) {}

NormPrograms::NormPrograms(const tune::Operator& op, int threads)
    : OperatorPrograms(op, threads), shape_(norm_of(op)), lanes_(norm_table().lanes) {}

std::string NormPrograms::key() const {
  return llvm::formatv("norm of {0} rows of {1}, {2} apart{3}, {4}{5}", shape_.rows, shape_.length,
                       shape_.row_step, shape_.root ? ", root" : "", norm_table().isa,
                       key_of_threads(threads()));
}

std::string NormPrograms::name() const {
  return llvm::formatv("{0} {1} of {2}", shape_.rows, shape_.root ? "norms" : "sums of squares",
                       shape_.length);
}

double NormPrograms::flops() const {
  return 2 * static_cast<double>(shape_.rows) * static_cast<double>(shape_.length);
}

/// Threads that share a sum are lanes first, then vectors, then pieces of a row.
/// In the flat sketch they are neighbouring rows. The roots have no loop of their own.
tune::Program NormPrograms::adapted(tune::Program program) const {
  if (program.op != op() || program.threads.empty()) return program;
  int64_t asked = program.threads[0];
  if (program.sketch == tune::Sketch::Flat) {
    program.threads = {std::min({kMostNormRows, power_below(asked), power_below(shape_.rows)}), 1};
  } else if (program.sketch == tune::Sketch::CrossThread) {
    NormSchedule s;
    s.vectors = std::min(kMostNormVectors, power_below(asked / lanes_));
    s.pieces = power_below(asked / lanes_ / s.vectors);
    while (s.pieces > 1 && !suits(shape_, s)) s.pieces /= 2;
    program.threads = {lanes_ * s.vectors * s.pieces};
  }
  return program;
}

NormSchedule NormPrograms::schedule(const tune::Program& program) const {
  NormSchedule s;
  if (program.sketch == tune::Sketch::Flat) {
    s.rows = program.threads[0];
    s.vectors = kMostNormVectors / s.rows;
    return s;
  }
  int64_t vectors = program.threads[0] / lanes_;
  s.vectors = std::min(kMostNormVectors, vectors);
  s.pieces = vectors / s.vectors;
  return s;
}

bool NormPrograms::occupies_threads(const NormSchedule& s) const {
  constexpr double kIdle = 1.1; // times the work: limit of the idle time of threads
  auto rounds = [&](const NormSchedule& of) {
    int64_t parts = ceil_div(shape_.rows, of.rows) * of.pieces;
    return static_cast<double>(ceil_div(parts, threads()) * threads()) / static_cast<double>(parts);
  };
  return rounds(s) <= std::max(kIdle, rounds(untuned()));
}

std::string NormPrograms::why_not(const tune::Program& program) const {
  if (program.op != op()) return "it belongs to another operator";
  if (!tune::check(program).ok()) return "it is not a program of norms";
  if (adapted(program) != program) return "it is not a schedule of norms";
  NormSchedule s = schedule(program);
  if (!suits(shape_, s)) return "there is no such code, or a piece is too small";
  if (!occupies_threads(s))
    return llvm::formatv("its parts cannot be divided among {0} threads", threads());
  return {};
}

std::optional<tune::Program> NormPrograms::guess() const {
  NormSchedule s = untuned();
  tune::Program program{op(), tune::Sketch::CrossThread, {}, {lanes_ * s.vectors * s.pieces}};
  if (!why_not(program).empty()) return std::nullopt;
  return program;
}

Result<std::unique_ptr<Implementation>> NormPrograms::implementation(const tune::Program* program,
                                                                     Runs& runs) const {
  NormSchedule s = program ? schedule(*program) : untuned();
  return std::unique_ptr<Implementation>(
      std::make_unique<NormImplementation>(shape_, s, threads(), runs));
}

} // namespace tg::cpu
