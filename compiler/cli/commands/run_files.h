// What `tg run` reads and writes beside the model: inputs, examples, outputs.
#pragma once

#include "compiler/cli/options/options.h"
#include "compiler/trial/run_model.h"
#include "runtime/files/numpy.h"

namespace tg::cli {

/// Random tensors from the seed, but those that --input gives, and weights that runs update, which
/// are as the options say. Errors: `bad_input_value` for a name that the model does
/// not have; those of reading.
Result<std::vector<Tensor>> read_inputs(const Options& o, const Plan& plan,
                                        const PrepareOptions& options);

/// What --data names. Errors: those of reading.
Result<std::vector<NamedTensor>> read_examples(const Options& o);

/// Into --output: a folder of .npy files, or a .npz file.
Result<void> write_outputs(const Options& o, const RunReport& report);

} // namespace tg::cli
