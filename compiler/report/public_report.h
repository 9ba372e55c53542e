// The report of an optimisation for users: in the library, in JSON and in Python.
#pragma once

#include "compiler/optimizer/report.h"
#include "tangram/tangram.h"

namespace tg {

/// Sets all fields except `verified`, which the caller sets.
tangram::Report public_report(const OptimizeReport& report);

} // namespace tg
