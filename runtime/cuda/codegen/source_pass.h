// The text of one pass of a kernel: expressions in the order of their ids, each once,
// named by their ids, so that no table is needed; contiguous loads are combined.
// source.cpp writes the loops around passes.
#pragma once

#include "runtime/cuda/codegen/phases.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cuda {

const char* scalar_name(Scalar scalar);
/// "1.5f", "TG_INFINITY", "3LL".
std::string literal(Scalar scalar, double value);
/// Returns "add" for tg_add.
const char* reduce_name(ReduceOp op);
/// Returns the initial value of a reduction.
std::string identity(const Stage& stage);

/// Writes to `out`, each line after `indent`.
class PassWriter {
public:
  PassWriter(Kernel& kernel, const std::set<ExprId>& kept, std::string indent,
             llvm::raw_ostream& out)
      : kernel_(kernel), kept_(kept), indent_(std::move(indent)), out_(out) {}

  /// `available`: expressions that earlier passes keep in registers.
  void compute(llvm::ArrayRef<ExprId> roots, const std::set<ExprId>& available);
  /// Return the text of a computed expression and of an index.
  std::string value(ExprId id);
  std::string index(IndexId id);
  void store(const Store& s);

  /// Sets the format of references to reduction results; {0} is the number.
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
