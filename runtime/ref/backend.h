// The backend `ref`: the definition of every operator, in plain loops.
// Other backends are compared with it and fall back to it.
#pragma once

#include "runtime/backend.h"

namespace tg {

/// Supports every step of every dtype. Layouts are row-major, reshapes are views,
/// and in_place is honoured. Runs on one thread whatever the options say,
/// because the definition should not depend on them.
std::unique_ptr<Backend> make_ref_backend();

} // namespace tg
