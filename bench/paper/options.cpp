// The rows of options.def.
#include "bench/paper/paper.h"

namespace tg::paper {
namespace {

using namespace tangram::fields;
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
     Stored<OptionKind::kind, decltype(limits)>* field = &static_cast<Options*>(options)->member;  \
     return field;                                                                                 \
   },                                                                                              \
   [](void* options) {                                                                             \
     auto& field = static_cast<Options*>(options)->member;                                         \
     field = initial<std::remove_reference_t<decltype(field)>>(value);                             \
   }},
#define TG_ALSO TG_OPTION
#include "bench/paper/options.def"
};

} // namespace

llvm::ArrayRef<cli::OptionRow> option_rows() { return kOptions; }

} // namespace tg::paper
