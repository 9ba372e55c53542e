// Who may say by which schedule a product on register tiles runs, asked while a plan is lowered.
#pragma once

#include "runtime/onednn/backend.h"
#include "runtime/tile/product.h"

#include <optional>

namespace tg {

namespace cpu {

class ProductSchedules {
public:
  virtual ~ProductSchedules() = default;
  /// None: by rule. The same answer as long as the process lives; asked by several threads.
  virtual std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                             int threads) = 0;
};

/// The processor as the backend's description names it, its family and model included.
std::string processor_name();

} // namespace cpu

/// With schedules of products on our tiles; null: by rule.
std::unique_ptr<Backend> make_cpu_backend(Products products,
                                          std::shared_ptr<cpu::ProductSchedules> schedules);

} // namespace tg
