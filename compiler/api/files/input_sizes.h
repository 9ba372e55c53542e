// Open sizes that follow from the inputs of a run: a parameter with a range that the type of an
// input names has the size of the tensor that is given for it.
#pragma once

#include "compiler/api/files/model.h"

namespace tg {

/// Adds to the settings the sizes of parameters with ranges that they do not set. Sizes in the
/// tensors that contradict each other, a setting or a range are an error, `bad_input_value`, that
/// names the dimension and the inputs. Dimensions that follow from no input keep their default;
/// tensors of another rank are left to the check of inputs.
Result<void> add_input_sizes(const Program& program, FnRef model,
                             llvm::ArrayRef<InputTensor> inputs, ModelSettings& settings);

} // namespace tg
