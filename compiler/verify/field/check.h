// Outputs of a joined graph, compared over the field (field.h) at random points.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/field/field.h"

namespace tg {

class FieldCheck {
public:
  /// Pairs of nodes: a, b, a, b, ... Both are kept by reference.
  FieldCheck(const Joined& joined, llvm::ArrayRef<NodeId> pairs, const EquivalenceOptions& options);

  enum class Outcome : uint8_t {
    Agree,
    Differ,  // at `differing`
    Stopped, // by the options
    Spoilt,  // no point was found at which nothing is divided by zero modulo some primes alone
  };
  /// At the point of this number.
  Outcome run(size_t number);
  /// The point of this number.
  FieldPoint drawn(size_t number, uint64_t attempt = 0) const;

  /// After Differ: the first pair that does, and the point.
  size_t differing() const { return differing_; }
  const FieldPoint& point() const { return point_; }

  /// Elements of leaves at the point of the thread: uniform, from its keys, name and place.
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
