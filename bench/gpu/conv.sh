#!/bin/sh
# What cuDNN does on this GPU, network by network: each step with the engine and layout that was
# chosen (cudnn:engine N:nhwc), why one is not the library's, and the plans kept for the next load.
# The second load of a network measures nothing. Arguments: the program, then its options.
cd "$(dirname "$0")/../.." || exit 1
tg=${1:-build/tg}
[ $# -gt 0 ] && shift
for model in squeezenet mobilenetv2 resnet50 inceptionv3 vit_base; do
  for dtype in f32 f16; do
    for load in cold warm; do
      echo "== $model, $dtype, $load"
      timeout 240 "$tg" run "examples/$model.tg" --backend cuda --dtype $dtype --verbose "$@" ||
        echo "failed: $?"
    done
  done
done
