// What one pass of a kernel computes, as text: expressions in the order of their ids, each once,
// under the names of their ids, so that no table is needed; loads that lie side by side as one. The
// loops around passes are source.cpp's.
#pragma once

#include "runtime/cuda/codegen/phases.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cuda {

const char* scalar_name(Scalar scalar);
/// "1.5f", "TG_INFINITY", "3LL".
std::string literal(Scalar scalar, double value);
/// "add": of tg_add.
const char* reduce_name(ReduceOp op);
/// What a reduction begins with.
std::string identity(const Stage& stage);

/// Writes to `out`, each line behind `indent`.
class PassWriter {
public:
  PassWriter(Kernel& kernel, const std::set<ExprId>& kept, std::string indent,
             llvm::raw_ostream& out)
      : kernel_(kernel), kept_(kept), indent_(std::move(indent)), out_(out) {}

  /// `available`: what earlier passes have put into registers.
  void compute(llvm::ArrayRef<ExprId> roots, const std::set<ExprId>& available);
  /// An expression that was computed, and an index, as text to use.
  std::string value(ExprId id);
  std::string index(IndexId id);
  void store(const Store& s);

  /// How the result of a reduction is written; {0} is its number.
  void stages_as(const char* format) { stage_format_ = format; }
  llvm::raw_ostream& line() { return out_ << indent_; }

private:
  std::string atom(uint32_t id);
  std::string condition(ConditionId id);
  void define(ExprId id);
  std::string right_side(ExprId id, const Expr& expr);
  std::string load(ExprId id, const Expr& expr);

  Kernel& kernel_;
  const std::set<ExprId>& kept_;
  std::string indent_;
  llvm::raw_ostream& out_;
  const char* stage_format_ = "s{0}";
  std::map<ExprId, Pack> packs_;
  std::set<uint32_t> atoms_;
  std::set<ConditionId> conditions_;
  std::set<ExprId> loaded_;
};

} // namespace tg::cuda
