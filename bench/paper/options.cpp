// The rows of options.def.
#include "bench/paper/paper.h"

namespace tg::paper {
namespace {

using namespace cli::option_columns;
using cli::OptionGroup;
using cli::OptionKind;

constexpr cli::OptionRow kOptions[] = {
#define TG_OPTION(member, flag, value_name, kind, value, limits, group, help)                      \
  {flag,                                                                                           \
   value_name,                                                                                     \
   OptionKind::kind,                                                                               \
   value,                                                                                          \
   limits,                                                                                         \
   OptionGroup::group,                                                                             \
   {},                                                                                             \
   {},                                                                                             \
   "",                                                                                             \
   help,                                                                                           \
   "",                                                                                             \
   [](void* options) -> void* {                                                                    \
     cli::Stored<OptionKind::kind>* field = &static_cast<Options*>(options)->member;               \
     return field;                                                                                 \
   }},
#define TG_ALSO TG_OPTION
#include "bench/paper/options.def"
};

} // namespace

llvm::ArrayRef<cli::OptionRow> option_rows() { return kOptions; }

} // namespace tg::paper
