// Ranges of sizes: `S: int in 1..2048 = 128` is a parameter of a model that may take each of these
// values, both ends included. The default is the value of a plain run.
#pragma once

#include "lang/check/modules.h"

#include <optional>
#include <string>

namespace tg {

struct SizeRange {
  int64_t least = 0;
  std::optional<int64_t> most; // absent: no end

  bool contains(int64_t size) const { return size >= least && (!most || size <= *most); }
  std::string text() const; // "1..2048", "1.."
  bool operator==(const SizeRange&) const = default;
};

/// Returns the range of a parameter; nullopt if it has none, or one that check_size_range refuses.
std::optional<SizeRange> size_range(const Ast& ast, const ast::Param& param);

/// Returns "S in 1..2048, B in 1..", the ranges of a model; "" if it has none.
std::string ranges_text(const Ast& ast, const ast::Decl& model);

/// Checks the range of a parameter and a default that is known without other parameters. Errors:
/// `wrong_kind`, `missing_argument` (the default), `dimension_mismatch`.
void check_size_range(const Ast& ast, const ast::Decl& fn, const ast::Param& param,
                      DiagnosticSink& sink);

/// Reports a size outside of the range of its parameter.
Diagnostic outside_range(const ast::Param& param, const SizeRange& range, int64_t size);

} // namespace tg
