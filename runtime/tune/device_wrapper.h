// Wraps a device with a different clock: it has the same programs and shape choices,
// but its trials take no time.
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

class DeviceWrapper : public Device {
public:
  explicit DeviceWrapper(const Device& device) : device_(device) {}
  std::string name() const override { return device_.name(); }
  DeviceLimits limits() const override { return device_.limits(); }
  std::string why_not(const Program& program, const Nest& nest) const override {
    return device_.why_not(program, nest);
  }
  Program adapted(Program program) const override { return device_.adapted(std::move(program)); }
  Extents choose_block(const Operator& op, const Nest& nest, int64_t points,
                       BlockCost& cost) const override {
    return device_.choose_block(op, nest, points, cost);
  }
  std::optional<ThreadShape> choose_threads(const Operator& op, const Nest& nest,
                                            const Extents& block, const Extents& fetched,
                                            int64_t threads) const override {
    return device_.choose_threads(op, nest, block, fetched, threads);
  }
  bool stopped() const override { return device_.stopped(); }

private:
  const Device& device_;
};

} // namespace tg::tune
