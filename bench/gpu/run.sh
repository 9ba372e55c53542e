#!/bin/sh
# The first cells worth having on a GPU machine: batch 1, f32 and f16, six networks, source and
# optimised. Goes on where it stopped. Arguments are those of run.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 bench/gpu/run.py --batch 1 --dtype f32,f16 "$@"
