// `--search rl`: rewrites chosen by a trained policy, and the tree search guided by a network.
#pragma once

#include "compiler/api/own_search.h"
#include "lang/core/result.h"

namespace tg::paper {

/// Opens the best version of the policy that the options name, and follows it for `budget` episodes
/// of `depth` steps. Errors: `usage` if no policy is named; those of the file.
Result<std::shared_ptr<const tangram::OwnSearch>>
followed_policy(const tangram::OptimizeOptions& options);

/// Opens a policy that guides the tree search: the guide, or a table
/// (compiler/api/policy_file.h). Errors: those of the file.
Result<std::unique_ptr<Policy>> open_policy(const std::string& path);

/// Returns the shipped search guided by the policy in `path`. Errors: those of the file.
Result<std::shared_ptr<const tangram::OwnSearch>> guided_search(const std::string& path);

} // namespace tg::paper
