// What CLI11 cannot say of a command line: options that take one of a few words or a form of their
// own, and which of them go together.
#pragma once

#include "compiler/driver/cli/options.h"

#include <optional>

namespace tg::cli {

/// Texts that need a second look after CLI11 is done.
struct Raw {
  std::vector<std::string> set, inputs;
  std::string dtype = "f32";
};

/// Reads the texts into the options and looks at all of them once more; what is wrong, if anything.
std::optional<std::string> second_look(Options& options, const Raw& raw);

} // namespace tg::cli
