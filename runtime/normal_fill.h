// Tensors of normal random numbers, several at a time.
#pragma once

#include "lang/core/support/random.h"

#include <llvm/ADT/ArrayRef.h>

namespace tg {

/// out[i] = float(scale * stream.normal(i)), bit for bit, whatever the processor and however many
/// threads.
void fill_normal(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                 int threads = 1);

} // namespace tg
