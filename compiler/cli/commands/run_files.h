// The files of `tg run` other than the model: inputs, examples, outputs.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/cli/options/options.h"
#include "compiler/trial/run_model.h"
#include "runtime/files/numpy.h"

namespace tg::cli {

/// Returns the inputs: tensors of --input, initial values of updated weights from the options, and
/// random tensors from the seed for the others. Errors: `bad_input_value` for a name that the model
/// does not have; errors of reading.
Result<std::vector<Tensor>> read_inputs(const Options& o, const Plan& plan,
                                        const PrepareOptions& options);

/// Returns the types of the tensors of --input. Errors: those of reading.
Result<std::vector<InputTensor>> input_types(const Options& o);

/// Reads the tensors of --data. Errors: those of reading.
Result<std::vector<NamedTensor>> read_examples(const Options& o);

/// Writes to --output: a folder of .npy files, or a .npz file.
Result<void> write_outputs(const Options& o, const RunReport& report);

} // namespace tg::cli
