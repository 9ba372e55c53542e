// The activation functions named by recurrent operators, with their two parameters.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

class Activation {
public:
  NodeId apply(Emitter& e, NodeId x) const { return write_(e, x, alpha_, beta_); }

private:
  friend std::vector<Activation>
  read_activations(Call& call, const std::vector<std::string>& defaults, size_t directions);
  NodeId (*write_)(Emitter&, NodeId, double alpha, double beta) = nullptr;
  double alpha_ = 0, beta_ = 0;
};

/// Reads the attributes `activations`, `activation_alpha` and `activation_beta`: as many as the
/// defaults for each direction. Fails on a mismatch.
std::vector<Activation> read_activations(Call& call, const std::vector<std::string>& defaults,
                                         size_t directions);

} // namespace tg::onnx
