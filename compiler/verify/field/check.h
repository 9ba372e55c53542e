// Compares outputs of a joined graph over the field (field.h) at random points.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/field/field.h"

namespace tg {

class FieldCheck {
public:
  /// `pairs` lists nodes a, b, a, b, ... Both arguments are kept by reference.
  FieldCheck(const Joined& joined, llvm::ArrayRef<NodeId> pairs, const EquivalenceOptions& options);

  enum class Outcome : uint8_t {
    Agree,
    Differ,        // at `differing`
    Stopped,       // by the options
    NoUsablePoint, // every drawn point has a divisor that is zero modulo only some primes
  };
  /// Evaluates the pairs at the point of this number.
  Outcome run(size_t number);
  /// Draws the point of this number.
  FieldPoint drawn(size_t number, uint64_t attempt = 0) const;

  /// After Differ: the first pair that differs, and the point.
  size_t differing() const { return differing_; }
  const FieldPoint& point() const { return point_; }

  /// Returns elements of leaves at the thread's point: uniform, by its keys, name and position.
  static Evaluation<Field>::Leaves leaves();

private:
  const Joined& joined_;
  llvm::ArrayRef<NodeId> pairs_;
  const EquivalenceOptions& options_;
  Digest digest_;
  FieldPoint point_;
  size_t differing_ = 0;
};

} // namespace tg
