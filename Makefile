# Everything here makes its own .venv and installs what it needs; a second run is quick.

PYTHON ?= python3
VENV := .venv
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=
MODELS ?=
# Of the comparison with other engines: a folder with the models of MLPerf Tiny, for instructions on AArch64; and options,
# such as "--rounds 2 --budget 0.02" for a quick look.
TINY ?=
BENCH_ARGS ?=
ARM64_NETS := mobilenet_v2 mobilenet_v3_small resnet8_cifar squeezenet11 lstm_2x128_50 dscnn_kws autoenc_640
# Where pip looks for PyTorch too. On Linux its default has CUDA, which nothing here needs; PyTorch's own page of
# installation names an index with builds for processors, a tenth of the size.
TORCH_INDEX ?=
KERNELS ?= own
COMPILER ?= gcc
TARGETS ?= cortex-m4 cortex-m7 cortex-m33 cortex-m55 cortex-m0plus

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

C_FILES = $(shell git ls-files '*.c' '*.h')
LIBRARY_SOURCES := pyproject.toml $(shell find runtime nnacl_kernels \
    -name '*.[ch]' -o -name '*.def' -o -name CMakeLists.txt -o -name '*.cmake')
PIP_INSTALL := $(VENV)/bin/pip install --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
EDITABLE := $(PIP_INSTALL) --no-build-isolation --editable

.PHONY: help demo test test-full bench-cpu bench-mcu models-table train train-examples lint format clean

help:
	@echo "make demo       recognise digits: convert, run, generate C, run it here and on an emulated Cortex-M4"
	@echo "make test       the tests, without the slow ones (installs torch; TORCH_INDEX names an index to take it from)"
	@echo "make test-full  all tests (installs torch and ray)"
	@echo "make bench-mcu  instructions, flash and RAM on emulated Cortex-M boards (MODELS=folders, TARGETS=names,"
	@echo "                KERNELS=cmsis-nn for Arm's library, a copy of which CMSIS_NN_DIR names; COMPILER=zig)"
	@echo "make bench-cpu  times beside other engines from PyPI, which it installs (MODELS=names of networks), start, memory,"
	@echo "                sizes, instructions on AArch64 (TINY=folder with the models of MLPerf Tiny, BENCH_ARGS=options)"
	@echo "make models-table  writes docs/models.md: does every model of a collection convert, run, agree (MODELS=folder)"
	@echo "make train      train the model of the demo again (installs torch)"
	@echo "make train-examples  five models from data to an emulated Cortex-M4 (installs torch)"
	@echo "make lint       style and types"
	@echo "make format     put every file into the style"
	@echo "make clean      remove what the build and the tests wrote, .venv included"

demo: $(VENV)/.system-demo $(VENV)/.installed
	$(VENV)/bin/python examples/digits/demo.py

test: $(VENV)/.system-test $(VENV)/.installed-test $(VENV)/.installed-train
	$(VENV)/bin/pytest -m "not slow" -n $(JOBS) $(PYTEST_ARGS)

test-full: $(VENV)/.system-test $(VENV)/.installed-test $(VENV)/.installed-ray
	$(VENV)/bin/pytest -n $(JOBS) $(PYTEST_ARGS)

bench-mcu: $(VENV)/.system-demo $(VENV)/.installed
	$(VENV)/bin/python benchmarks/mcu/bench.py $(addprefix --models-dir ,$(MODELS)) --kernels $(KERNELS) --compiler $(COMPILER) \
	    $(if $(and $(MODELS),$(filter own,$(KERNELS)),$(filter gcc,$(COMPILER))),--page docs/benchmarks.md) $(addprefix --target ,$(TARGETS))

bench-cpu: $(VENV)/.system-test $(VENV)/.installed-bench
	$(VENV)/bin/python benchmarks/cpu/net_files.py build/bench-nets $(if $(MODELS),$(sort $(MODELS) mobilenet_v2 mlp10))
	for kind in f32 s8; do for how in "--threads 1" "--threads 2" "--isa avx2"; do \
	    $(VENV)/bin/python benchmarks/cpu/compare.py build/bench-nets $(MODELS) --kind $$kind $$how $(BENCH_ARGS) \
	        --out build/bench-nets/results.jsonl || exit; done; done
	$(VENV)/bin/python benchmarks/cpu/compare.py --table build/bench-nets/results.jsonl
	$(VENV)/bin/python benchmarks/cpu/footprint.py build/bench-nets --results build/bench-nets/results.jsonl \
	    --build build/bench-runtime --install
	$(VENV)/bin/python benchmarks/arm64/float_instructions.py build/bench-nets $(or $(MODELS),$(ARM64_NETS)) \
	    --build build/bench-arm64
	$(if $(TINY),$(VENV)/bin/python benchmarks/arm64/instructions.py --models-dir $(TINY))

models-table: $(VENV)/.system-test $(VENV)/.installed-test
	$(VENV)/bin/python benchmarks/models/model_table.py $(if $(MODELS),--models $(MODELS))

train: $(VENV)/.installed-train
	$(VENV)/bin/python examples/digits/train.py

train-examples: $(VENV)/.system-demo $(VENV)/.installed-train
	for name in tabular_mlp anomaly_autoencoder digits_cnn tiny_transformer keyword_spotting; do \
	    $(VENV)/bin/python examples/train/$$name.py || exit 1; done

# mypy sees the package as it is installed: the folders of the root under the one name.
lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/clang-format --dry-run -Werror $(C_FILES)
	rm -rf build/types && mkdir -p build/types/microlith
	ln -s $(CURDIR)/microlith/* $(addprefix $(CURDIR)/,$(wildcard converter runtime codegen nnacl_kernels trainer)) \
	    build/types/microlith/
	MYPYPATH=build/types $(VENV)/bin/mypy

format: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(C_FILES)

clean:
	rm -rf $(VENV) build dist examples/*/out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up ------------------------------------------------------------------------------------------------------

$(VENV)/.created:
	PYTHON=$(PYTHON) .ci/system.sh base
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) "scikit-build-core>=0.11" cmake ninja
	@touch $@

$(VENV)/.system-%: .ci/system.sh $(VENV)/.created
	.ci/system.sh $*
	@touch $@

$(VENV)/.installed: $(LIBRARY_SOURCES) | $(VENV)/.created
	$(EDITABLE) .
	@touch $@

$(VENV)/.installed-%: pyproject.toml $(VENV)/.installed
	$(EDITABLE) ".[$*]"
	@touch $@
