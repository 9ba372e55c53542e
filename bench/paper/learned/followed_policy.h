// `--search rl`: rewrites chosen by a trained policy, and the tree search guided by a network.
#pragma once

#include "compiler/api/own_search.h"
#include "lang/core/result.h"

namespace tg::paper {

/// Opens the policy that the options name, as it played best, and follows it for as many episodes
/// (`budget`) of as many steps (`depth`) as they say. Errors: `usage` where none is named; those of
/// the file.
Result<std::shared_ptr<const tangram::OwnSearch>>
followed_policy(const tangram::OptimizeOptions& options);

/// Opens what guides the tree search: the guide, or a table
/// (compiler/api/seated_policy.h). Errors: those of the file.
Result<std::unique_ptr<Policy>> open_policy(const std::string& path);

/// The shipped search with such a policy. Errors: those of the file.
Result<std::shared_ptr<const tangram::OwnSearch>> guided_search(const std::string& path);

} // namespace tg::paper
