// See idioms.h. Each table is one switch, a line for each thing that is meant.
#include "lang/idioms.h"

#include <llvm/ADT/StringSwitch.h>

namespace tg {

using llvm::StringRef;
using Words = llvm::StringSwitch<StringRef>;

StringRef idiom_of_function(StringRef name) {
  return Words(name)
      .Cases("view", "flatten", "unsqueeze", "squeeze", "reshape_as",
             "shapes change by `reshape(x, [2, -1])`")
      .Cases("permute", "t", "swapaxes", "movedim", "T",
             "axes change places by `transpose(x, perm = [0, 2, 1])`; `transpose(x)` swaps the "
             "last two")
      .Cases("mm", "bmm", "dot", "einsum", "a product is written `x @ w`")
      .Cases("cat", "stack", "hstack", "vstack", "tensors are joined by `concat([a, b], axis = 1)`")
      .Cases("chunk", "unbind", "`let (a, b) = split(x, axis = -1, parts = 2)`")
      .Case("mean", "`reduce_mean(x, axes = [-1])`")
      .Cases("amax", "max_", "`reduce_max(x, axes = [-1])`")
      .Case("Linear", "`use std.nn: linear`, then `linear(x, 128)`: the input's width follows "
                      "from x")
      .Cases("Conv2d", "Conv1d",
             "`use std.nn: conv`, then `conv(x, 64, kernel = 3)`: the input's channels follow from "
             "x")
      .Case("LayerNorm", "`use std.nn: layernorm`, then `layernorm(x)`")
      .Cases("BatchNorm2d", "BatchNorm1d", "`use std.nn: batchnorm`, then `batchnorm(x)`")
      .Cases("MaxPool2d", "AvgPool2d", "`use std.nn: max_pool`, then `max_pool(x, kernel = 2)`")
      .Cases("ReLU", "relu_", "`relu(x)`")
      .Cases("GELU", "Softmax", "Sigmoid", "Tanh",
             "operators are written small and take their tensor: `gelu(x)`, `softmax(x, axis = "
             "-1)`")
      .Cases("dropout", "Dropout", "models run, they are not trained: leave dropout out")
      .Cases("Sequential", "ModuleList", "calls are nested, or bound one after another with `let`")
      .Case("Parameter", "weights are declared: `param w: f32[D, D]`")
      .Cases("Embedding", "embed", "a row of a table is taken by `gather(table, ids, axis = 0)`")
      .Cases("float", "half", "long", "astype", "to", "dtypes are converted by `cast(x, f16)`")
      .Case("range", "loops run through `0..12`: `for i in 0..12 { … }`")
      .Case("size", "sizes are asked by `dim(x, 0)` and `shape(x)`")
      .Case("print", "`tg run` prints a model's outputs; `tg check` the types that do not fit")
      .Cases("masked_fill", "where", "iff", "`select(mask, a, b)` chooses element by element")
      .Case("arange", "`iota(4)` is [0, 1, 2, 3]")
      .Cases("contiguous", "clone", "detach", "values do not change in place: leave it out")
      .Case("forward", "a network is a `model`, its parts are `fn`s that are called by name")
      .Cases("randn", "rand",
             "inputs are parameters of the model; weights are declared with `param`")
      .Default("");
}

StringRef idiom_of_name(StringRef name) {
  return Words(name)
      .Case("True", "write `true`")
      .Case("False", "write `false`")
      .Cases("None", "null", "nullptr", "write `none`")
      .Cases("torch", "nn", "np", "F", "tf", "operators are called by name: `relu(x)`")
      .Case("self",
            "there are no objects: weights are declared where they are used, with `param w: "
            "f32[D, D]`")
      .Default("");
}

StringRef idiom_of_argument(StringRef name) {
  return Words(name)
      .Cases("dim", "dims", "axis axes")
      .Case("axis", "axes")
      .Case("axes", "axis")
      .Cases("keepdim", "keep_dims", "keepdims")
      .Cases("padding", "pads", "pad")
      .Cases("kernel_size", "ksize", "window", "kernel")
      .Cases("out_channels", "out_features", "filters", "units", "channels width")
      .Case("strides", "stride")
      .Cases("chunks", "sections", "parts sizes")
      .Cases("input", "tensor", "a", "x")
      .Cases("other", "b", "y")
      .Cases("weight", "kernel", "w")
      .Cases("dims_order", "order", "perm")
      .Default("");
}

} // namespace tg
