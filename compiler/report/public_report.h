// The report of an optimisation as users see it: in the library, in JSON and in Python.
#pragma once

#include "compiler/optimizer/report.h"
#include "tangram/tangram.h"

namespace tg {

/// All fields but `verified`, which the caller knows.
tangram::Report public_report(const OptimizeReport& report);

} // namespace tg
