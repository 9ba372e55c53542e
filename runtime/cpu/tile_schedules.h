// The interface that provides schedules for our kernels while a plan is lowered:
// products on register tiles, convolutions with emitted code, Winograd convolutions and norms;
// and the choice between our kernels and oneDNN's.
#pragma once

#include "runtime/cpu/backend.h"
#include "runtime/cpu/norm/norms.h"
#include "runtime/cpu/tile/grouped.h"
#include "runtime/cpu/tile/product.h"
#include "runtime/cpu/winograd/winograd.h"

#include <memory>
#include <optional>

namespace tg {

namespace cpu {

/// A convolution with emitted code. Channels of a depthwise one are groups of one.
struct OwnConvolution {
  /// Image: an image or a volume. LongRows: a sequence, whose shape is the middle,
  /// cut into rows (long_rows.h). Transposed: a transposed convolution,
  /// with the window of the operator (transposed.h).
  enum class Form : uint8_t { Image, LongRows, Transposed };

  tile::GroupedShape shape;
  bool depthwise = false;
  tile::ConvolutionTail tail;
  Form form = Form::Image;
  /// Rows and columns of capsules: the outer part of the images, and of the channels. None:
  /// not a convolution of capsules.
  tile::Plane capsules = {0, 0};
};

class PlanObserver;

/// The finders return nullopt for the default schedule, or a schedule that suits.
/// Results stay the same during the process. Thread-safe.
class TileSchedules {
public:
  virtual ~TileSchedules() = default;
  virtual std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                             int threads) = 0;
  virtual std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                        int threads) = 0;
  virtual std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) = 0;
  virtual std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) = 0;
  /// Returns true if our kernel runs an operator (operator_text) for which both libraries have one.
  /// `by_rule` is the default choice.
  virtual bool uses_own_kernel(llvm::StringRef op, bool by_rule) = 0;
  /// Returns an observer of all operators of a plan for `threads` threads before the plan
  /// is loaded; null: none.
  virtual std::unique_ptr<PlanObserver> observe_plan(int /*threads*/) { return nullptr; }
};

/// Defaults for everything; a base class for observers of some of the queries.
class AllByRule : public TileSchedules {
public:
  std::optional<tile::Schedule> find(const tile::ProductShape&, tile::Isa, int) override {
    return std::nullopt;
  }
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution&, int) override {
    return std::nullopt;
  }
  std::optional<NormSchedule> find_norm(const NormShape&, int) override { return std::nullopt; }
  std::optional<WinogradCut> find_winograd(const WinogradShape&, int) override {
    return std::nullopt;
  }
  bool uses_own_kernel(llvm::StringRef, bool by_rule) override { return by_rule; }
};

/// The plan is lowered once with this object, without effect, and then `seen` is called.
class PlanObserver : public TileSchedules {
public:
  virtual void seen() = 0;
};

/// Returns the processor's name as in the backend's description, including its family and model.
std::string processor_name();

} // namespace cpu

/// Uses schedules for our own kernels; null: defaults.
std::unique_ptr<Backend> make_cpu_backend(Products products,
                                          std::shared_ptr<cpu::TileSchedules> schedules);

} // namespace tg
