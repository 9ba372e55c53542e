// Result<T>: a value or a Diagnostic. Mirrors std::expected (C++23),
// so that it can be replaced by it. Front-end phases report into a DiagnosticSink and continue;
// all later phases return Result.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

namespace tg {

template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    assert(ok() && "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(ok() && "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  Diagnostic& error() {
    assert(!ok() && "error() of a successful Result");
    return *std::get_if<1>(&state_);
  }
  const Diagnostic& error() const {
    assert(!ok() && "error() of a successful Result");
    return *std::get_if<1>(&state_);
  }

private:
  std::variant<T, Diagnostic> state_;
};

/// A Result without a value.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Diagnostic error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  Diagnostic& error() { return *error_; }
  const Diagnostic& error() const { return *error_; }

private:
  std::optional<Diagnostic> error_;
};

} // namespace tg

#define TG_CONCAT_(a, b) a##b
#define TG_CONCAT(a, b) TG_CONCAT_(a, b)
/// `TG_TRY(declaration, expression)` binds the value of a Result, or returns its error.
/// This is the only hidden return of the code base.
#define TG_TRY(decl, expr)                                                                         \
  auto TG_CONCAT(tg_try_, __LINE__) = (expr);                                                      \
  if (!TG_CONCAT(tg_try_, __LINE__)) return std::move(TG_CONCAT(tg_try_, __LINE__).error());       \
  decl = std::move(*TG_CONCAT(tg_try_, __LINE__))
/// The same for Result<void>.
#define TG_CHECK(expr)                                                                             \
  if (auto TG_CONCAT(tg_check_, __LINE__) = (expr); !TG_CONCAT(tg_check_, __LINE__))               \
  return std::move(TG_CONCAT(tg_check_, __LINE__).error())
