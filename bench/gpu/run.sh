#!/bin/sh
# The first cells worth having on a GPU machine: correctness, then batch 1, f16 and f32, six networks,
# source and optimised, beside the peers. Each call ends within ten minutes and goes on where the last
# one stopped. Arguments are those of run.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 bench/gpu/run.py --batch 1 --dtype f16,f32 --limit 270 --total-limit 270 "$@"
