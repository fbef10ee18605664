#!/usr/bin/env bash
# Unpacks what has been carried over so far, in any order. Run in the repository root after each transfer.
set -euo pipefail
. studies/gpu/env.sh
mkdir -p "$STASH/site"
for archive in .gpu/1/site.tar.xz .gpu/3/bsk.tar.xz; do
    if [ -f "$archive" ] && [ ! -f "$STASH/$(basename "$archive").done" ]; then
        tar xJf "$archive" -C "$STASH/site"
        touch "$STASH/$(basename "$archive").done"
    fi
done
for part in .gpu/1/gguf.xz.a .gpu/2/gguf.xz.b .gpu/3/gguf.xz.c; do
    if [ -f "$part" ]; then cp "$part" "$STASH/"; fi
done
if [ "$(ls "$STASH"/gguf.xz.? | wc -l)" = 3 ] && [ ! -f "$MODEL/model.safetensors" ]; then
    cat "$STASH"/gguf.xz.[abc] | xz -dc > "$STASH/smollm2.gguf"
    echo "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53  $STASH/smollm2.gguf" | sha256sum -c
    python3 -m orbital_ops_env.training.smollm2 "$STASH/smollm2.gguf" "$MODEL"
fi
ls "$STASH"
