// The op that packs a constant operand into the form that one of our kernels reads.
#pragma once

#include "runtime/cpu/program.h"

#include <functional>

namespace tg::cpu {

/// Runs `pack`, which writes all of `to`. The data need not be floats;
/// `pack` determines the format.
class PackKernel final : public Kernel {
public:
  using Pack = std::function<void(float* to, const float* from)>;
  PackKernel(Place from, Place to, Pack pack)
      : from_place_(std::move(from)), to_place_(std::move(to)), pack_(std::move(pack)) {}

  Result<void> bind(const Addresses& addresses) override {
    from_ = reinterpret_cast<const float*>(addresses.bytes(from_place_));
    to_ = reinterpret_cast<float*>(addresses.bytes(to_place_));
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    pack_(to_, from_);
    return dnnl_success;
  }

private:
  Place from_place_, to_place_;
  Pack pack_;
  const float* from_ = nullptr;
  float* to_ = nullptr;
};

} // namespace tg::cpu
