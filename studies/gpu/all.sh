#!/usr/bin/env bash
# Measures all GPU figures in one go, on a machine that `unpack.sh` has prepared, and copies each to
# $STASH/results as soon as it is there. Half an hour of one H200. For a machine that is taken back when idle:
#   GIT_COMMIT=... DEMONSTRATIONS=FILE setsid nohup bash studies/gpu/all.sh &
# Run in the repository root; works in a copy, so that the next transfer cannot pull files from under it.
set -uo pipefail
: "${GIT_COMMIT:?the commit that was carried over}" "${DEMONSTRATIONS:?a file of training.demonstrations}"
export STASH=${STASH:-/tmp/stash}
rm -rf "$STASH/repo" && cp -r "$PWD" "$STASH/repo" && cp "$DEMONSTRATIONS" "$STASH/demonstrations.jsonl"
cd "$STASH/repo" || exit 1
. studies/gpu/env.sh
results=$STASH/results && rm -rf "$results" && mkdir -p "$results"
rm -f plots/data/{gate,on_policy,gpu_spike}.json plots/reward_curve.png # so that only new ones come back
pkill -f orbital_ops_env.server.app # of an earlier run
url=http://127.0.0.1:8000
export CURRICULUM_TOKEN=all

study() { # NAME ARGS...: one study with its log; its figures are kept whatever comes of it
    local name=$1 && shift
    python3 -m "orbital_ops_env.studies.$name" "$@" >> "$results/$name.log" 2>&1
    echo "$SECONDS s: $name ${*:1:2} ended with $?" >> "$results/status"
    cp plots/data/{gate,on_policy,gpu_spike}.json plots/reward_curve.png "$results/" 2> /dev/null
}

MAX_CONCURRENT_ENVS=1024 PORT=8000 setsid nohup python3 -m orbital_ops_env.server.app > "$results/server.log" 2>&1 &
study gate --url $url --model "$MODEL" --demonstrations "$STASH/demonstrations.jsonl" --groups 32
study on_policy --url $url
study gpu_spike train beside --url $url --at-once 4 --until 5
study gpu_spike report
study gpu_spike train alone --url $url
study gpu_spike report
study gpu_spike curve
echo "$SECONDS s: all done" >> "$results/status"
