// The random choices of an attempt at an instance: sizes, shapes, attributes and numbers. Images
// and kernels often resemble earlier ones, as rules that join convolutions require. Numbers are
// often near those in the rule's text.
#pragma once

#include "compiler/rules/rule.h"

#include <random>

namespace tg {

class InstanceDraws {
public:
  InstanceDraws(const Rule& rule, std::mt19937_64& rng);

  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(0, 99) < percent; }

  int64_t size();
  Shape any_shape(int64_t least_rank = 0);
  Shape image();
  Shape any_kernel();
  void note_convolution(const Shape& image, const Shape& kernel);
  int64_t divisor(int64_t n);
  /// Returns a shape that broadcasts to `shape`: some leading axes omitted, some set to 1.
  Shape narrower(Shape shape);
  /// Returns another shape with the same number of elements.
  Shape regrouped(llvm::ArrayRef<int64_t> shape);
  /// Returns an input size along one axis that gives `out` results.
  int64_t input_size(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                     const Value& pad, size_t axis);

  Value any_act();
  Value any_pair(int64_t high);
  Value any_pad();
  Value any_permutation(size_t rank);
  llvm::SmallVector<int64_t, 4> some_axes(int64_t rank);
  /// Returns a number of any partition that a program may contain, or near one of the rule's own.
  double any_number(DType dtype = DType::F32);
  /// Returns the numbers of a constant: one for all elements, or one for each.
  std::vector<double> any_literal(const TensorType& type);

private:
  void note_divisors(const Rule& rule);
  void note_integers(AttrKind kind, const Value& literal);

  std::mt19937_64& rng_;
  llvm::SmallVector<double, 8> numbers_; // in the rule's text
  llvm::SmallVector<int64_t, 4> large_,
      axes_; // integers and axes of the left side that are seldom drawn by chance
  llvm::SmallVector<Shape, 4> images_, kernels_; // of convolutions so far
};

template <class List> int64_t last(const List& list) {
  return static_cast<int64_t>(list.size()) - 1;
}

} // namespace tg
