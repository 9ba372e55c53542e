// A device that computes times instead of measuring them: occupancy, waves of blocks,
// lines of memory with a second-level cache, banks of shared memory, unrolling, latency
// of fetches. Good and bad programs differ by orders of magnitude, as on a GPU.
// Each program has a small individual deviation, so that no formula predicts the best.
#pragma once

#include "runtime/tune/device.h"

#include <map>

namespace tg::tune {

class SyntheticDevice final : public Device {
public:
  std::string name() const override { return "synthetic"; }
  DeviceLimits limits() const override { return {}; }
  std::optional<double> measure(const Program& program) override;

  int64_t measured = 0;

private:
  double tiles_us(const Program& program, const Nest& nest) const;
};

} // namespace tg::tune
