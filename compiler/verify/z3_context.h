// Creates the Z3 contexts of both users in this folder. A query is limited in Z3's own unit of
// work, so that answers do not depend on the machine. Running out of memory ends the program,
// as elsewhere.
#pragma once

#include <llvm/Support/ErrorHandling.h>
#include <z3.h>

namespace tg {

/// Returns a new context that limits each query to `resources`; Z3_del_context() frees it. A query
/// without an answer returns "unknown"; callers need not check for errors.
inline Z3_context new_z3_context(const char* resources) {
  Z3_config config = Z3_mk_config();
  Z3_set_param_value(config, "rlimit", resources);
  Z3_context context = Z3_mk_context(config);
  Z3_del_config(config);
  if (!context) llvm::report_bad_alloc_error("Z3 has no memory");
  Z3_set_error_handler(context, [](Z3_context, Z3_error_code code) {
    if (code == Z3_MEMOUT_FAIL) llvm::report_bad_alloc_error("Z3 has no memory");
  });
  return context;
}

} // namespace tg
