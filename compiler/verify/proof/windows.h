// Windows that slide along an axis, over symbolic sizes: how many results there are and how many
// zeros come first, after window() of lang/core/shape_rules.h; and groups of convolutions. Both are
// unknowns of which the facts are known that define them; those of equal arguments are one.
#pragma once

#include "compiler/verify/proof/tensor.h"

namespace tg::proof {

struct Window {
  Poly size, kernel, stride, dilation; // what it follows from
  std::string kind;
  std::vector<Poly> pads;
  Poly out, before;
};

struct Groups {
  Poly inputs, inputs_each, outputs; // what they follow from
  Poly count, outputs_each;
};

class Windows {
public:
  explicit Windows(Facts& facts) : facts_(facts) {}

  /// Of `pad`, what stands for this axis: 0 or 1.
  const Window& window(const Poly& size, const Poly& kernel, const Poly& stride,
                       const Poly& dilation, const Attr& pad, size_t axis);
  /// Of a convolution of more than one.
  const Groups& groups(const Poly& inputs, const Poly& inputs_each, const Poly& outputs);
  /// What was made apart and turned out to be of equal arguments is equal.
  void join();

private:
  void define(Window& w);

  Facts& facts_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::unique_ptr<Groups>> groups_;
};

} // namespace tg::proof
