// The text of a model that came from another format, as a person would have written it: values
// named after their places in the network, functions of the library where the graph spells out
// their bodies, and equal parts as one function (compiler/ir/repeats.h). It reads back to the same
// graph, which is tried; where it does not, the text is plainer.
#pragma once

#include "compiler/driver/files/model.h"

namespace tg {

std::string import_text(const LoadedModel& model);

} // namespace tg
