// Windows that slide along an axis, over symbolic sizes: the number of results and of leading
// zeros, as in window() of lang/core/shape_rules.h; and groups of convolutions. Both are unknowns
// with facts that define them. Equal arguments give the same unknowns.
#pragma once

#include "compiler/verify/proof/tensor.h"

namespace tg::proof {

struct Window {
  Poly size, kernel, stride, dilation; // the arguments
  std::string kind;
  std::vector<Poly> pads;
  Poly out, before;
};

struct Groups {
  Poly inputs, inputs_each, outputs; // the arguments
  Poly count, outputs_each;
};

class Windows {
public:
  explicit Windows(Facts& facts) : facts_(facts) {}

  /// `axis` selects an element of `pad`: 0 or 1.
  const Window& window(const Poly& size, const Poly& kernel, const Poly& stride,
                       const Poly& dilation, const Attr& pad, size_t axis);
  /// Returns the groups of a convolution with more than one group.
  const Groups& groups(const Poly& inputs, const Poly& inputs_each, const Poly& outputs);
  /// Equates unknowns whose arguments turned out to be equal.
  void join();

private:
  void define(Window& w);

  Facts& facts_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::unique_ptr<Groups>> groups_;
};

} // namespace tg::proof
