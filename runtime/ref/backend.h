// The backend `ref`: the definition of every operator, in plain loops. What other backends are
// compared with, and what they fall back to.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// Supports every step, of every dtype. Layouts are row-major; reshapes are views; in_place is
/// honoured. Runs on one thread whatever the options say: the definition should not depend on them.
std::unique_ptr<Backend> make_ref_backend();

} // namespace tg
