// Failures of the library as exceptions of the package: tangram.Error, with the diagnostics.
#pragma once

#include "tangram/tangram.h"

#include <optional>
#include <utility>

namespace tangram::python {

/// Thrown by the bindings alone, on the way to Python.
struct Failure {
  Error error;
};

/// The value, or its error thrown.
template <class T> T value_of(Expected<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(*result);
}

inline void check(const std::optional<Error>& error) {
  if (error) throw Failure{*error};
}

} // namespace tangram::python
