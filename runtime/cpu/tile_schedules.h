// Who may say by which schedule a product on register tiles, a convolution whose code is emitted, a
// Winograd convolution or a norm runs, and whether it runs on these; asked while a plan is lowered.
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

/// A convolution on code of our own. Channels of a depthwise one are groups of one.
struct OwnConvolution {
  /// An image or a volume; a sequence, whose shape is the middle that is cut into rows
  /// (long_rows.h); a transposed one, whose window is that of the operator
  /// (transposed.h).
  enum class Form : uint8_t { Image, LongRows, Transposed };

  tile::GroupedShape shape;
  bool depthwise = false;
  tile::ConvolutionTail tail;
  Form form = Form::Image;
  /// Rows and columns of capsules: the first are images, the others channels, the outer part of
  /// each. None: it is no convolution of capsules.
  tile::Plane capsules = {0, 0};
};

class PlanLook;

/// Answers are none, by rule, or a schedule that suits; the same as long as the process lives.
/// Asked by several threads.
class TileSchedules {
public:
  virtual ~TileSchedules() = default;
  virtual std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                             int threads) = 0;
  virtual std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                        int threads) = 0;
  virtual std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) = 0;
  virtual std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) = 0;
  /// Whether an operator (operator_text) for which both have a kernel runs on ours; `by_rule` is
  /// what the rule says.
  virtual bool ours(llvm::StringRef op, bool by_rule) = 0;
  /// Who wants to see all operators of a plan for so many threads before it is loaded; null:
  /// nobody.
  virtual std::unique_ptr<PlanLook> look(int /*threads*/) { return nullptr; }
};

/// All goes by rule; for who only wants to know of some of what is asked.
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
  bool ours(llvm::StringRef, bool by_rule) override { return by_rule; }
};

/// The plan is lowered with it once, in vain, and then `seen` is called.
class PlanLook : public TileSchedules {
public:
  virtual void seen() = 0;
};

/// The processor as the backend's description names it, its family and model included.
std::string processor_name();

} // namespace cpu

/// With schedules of kernels of our own; null: by rule.
std::unique_ptr<Backend> make_cpu_backend(Products products,
                                          std::shared_ptr<cpu::TileSchedules> schedules);

} // namespace tg
