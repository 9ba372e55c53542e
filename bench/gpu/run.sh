#!/bin/sh
# The most important measurements on a GPU machine, in order: the correctness of six networks; their
# latencies at batch 1 in f16 and f32, source and optimised, and those of the peers; build times; the
# implementation of each step; the correctness of all other models; memcheck. Each call ends within ten
# minutes (no cell takes longer than 270 s or starts after 270 s) and resumes where the last one
# stopped: repeat it until it no longer mentions --total-limit. The arguments are those of run.py; with
# --jobs 6 the peers are built in parallel, which takes a quarter of the time.
cd "$(dirname "$0")/../.." || exit 1
exec python3 bench/gpu/run.py --batch 1 --dtype f16,f32 --limit 270 --total-limit 270 "$@"
