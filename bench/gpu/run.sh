#!/bin/sh
# What is worth having first on a GPU machine: six networks, their correctness, then batch 1, f16 and
# f32, source and optimised, beside the peers; build times; what runs each step; then the correctness
# of all other models, and memcheck. Each call ends within ten minutes, since no cell takes longer
# than 270 s and none begins after 270 s, and goes on where the last one stopped: run it until it says
# no more of --total-limit. Arguments: run.py's; with --jobs 6 the peers are built side by side, which
# takes a quarter of the time.
cd "$(dirname "$0")/../.." || exit 1
exec python3 bench/gpu/run.py --batch 1 --dtype f16,f32 --limit 270 --total-limit 270 "$@"
