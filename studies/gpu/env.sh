# Environment of every command on a GPU machine without internet. Source it in the repository root.
export STASH=${STASH:-/tmp/stash}
mkdir -p "$STASH/src" && ln -sfn "$PWD" "$STASH/src/orbital_ops_env" # the root is the package
export PYTHONPATH=$STASH/src:$STASH/site PYTHONUNBUFFERED=1 MODEL=$STASH/smollm2
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false TQDM_DISABLE=1
export TRL_EXPERIMENTAL_SILENCE=1 UNSLOTH_DISABLE_STATISTICS=1 UNSLOTH_COMPILE_DISABLE=1
