# A short menu. `make demo` and `make test` install what they need first (scripts/install-deps.sh says what).
BUILD := build
JOBS  := $(shell nproc)
# The tests hold few cores for long (they wait for events), so a few more run side by side.
TEST_JOBS ?= $(shell expr 2 \* $$(nproc))

.PHONY: all demo test torture test-nfs test-fs test-slurm test-gang fuzz bench asan asan-unit tsan tsan-threads format tidy clean

all: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target torc

$(BUILD)/build.ninja: CMakeLists.txt
	scripts/install-deps.sh build test
	cmake --preset release

# Who has configured the build directory keeps that way of compiling; a fresh one takes the quickest from nothing.
CONFIGURE = cmake $(if $(wildcard $(BUILD)/CMakeCache.txt),-B $(BUILD),--preset quick)

demo:
	scripts/install-deps.sh build
	$(CONFIGURE) -DTORC_TESTS=OFF -DTORC_BENCH=OFF
	cmake --build $(BUILD) --target torc
	scripts/demo.sh $(BUILD)/torc

test:
	scripts/install-deps.sh build test
	$(CONFIGURE) -DTORC_TESTS=ON -DTORC_BENCH=ON -DTORC_WERROR=ON
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure -j $(TEST_JOBS)
	cmake --preset fuzz
	cmake --build build-fuzz --target fuzz
	ctest --test-dir build-fuzz --output-on-failure -j $(TEST_JOBS)

# Each fuzz target for SECONDS=60, or RUNS=… executions, one after the other; all, or those in TARGETS='spec recipe'.
# SANITIZE=undefined goes without the address sanitizer, several times as fast, in a build directory of its own.
FUZZ_BUILD := $(if $(SANITIZE),build-fuzz-$(SANITIZE),build-fuzz)
fuzz:
	scripts/install-deps.sh build test
	cmake --preset fuzz -B $(FUZZ_BUILD) $(if $(SANITIZE),-DTORC_FUZZ_SANITIZE=$(SANITIZE))
	cmake --build $(FUZZ_BUILD) --target fuzz
	TORC_FUZZ_SECONDS=$(or $(SECONDS),60) TORC_FUZZ_RUNS=$(RUNS) TORC_FUZZ_LOG=$(FUZZ_BUILD)/fuzz.log \
	  tests/fuzz/fuzz.sh $(FUZZ_BUILD) $(TARGETS)

# N workers killed (10,000), over all engines and lying locks: hours. ROUNDS=1000: at least so many of each, a day.
torture:
	scripts/install-deps.sh build test
	cmake --preset release -DTORC_TESTS=ON
	cmake --build $(BUILD) --target torc-torture
	LOG=$(BUILD)/torture.log tests/torture/run.sh $(BUILD)/tests/torture/torc-torture $(or $(N),10000) $(or $(ROUNDS),0)

# Two NFS clients and a server, each a kernel of its own: every fault, three times, with versions 3 and 4.2.
test-nfs:
	scripts/install-deps.sh build test
	cmake --preset release -DTORC_TESTS=ON
	cmake --build $(BUILD) --target nfs_itest
	LOG=$(BUILD)/nfs.log tests/integration/nfs/run.sh $(BUILD)/tests/integration/nfs/nfs_itest

# Two clients of sshfs, MooseFS, GlusterFS and CephFS each, or of those in FS='sshfs gluster': every fault, three times.
# Installs their packages, without starting their daemons.
test-fs:
	scripts/install-deps.sh build test
	cmake --preset release -DTORC_TESTS=ON
	cmake --build $(BUILD) --target fs_itest
	LOG=$(BUILD)/fs.log tests/integration/fs/run.sh $(BUILD)/tests/integration/fs/fs_itest $(FS)

# What users of Slurm expect, in the sizes that take minutes; then nodes, workers, srun, steps and the controller of a real
# Slurm killed in the middle of a run, ROUNDS=20 of each row, or of ROWS='node srun'. Needs root; two and a half hours,
# ABREAST=10 of them an hour.
test-slurm:
	scripts/install-deps.sh build test
	cmake --preset release -DTORC_TESTS=ON
	cmake --build $(BUILD) --target torc acceptance_itest
	TORC_TEST_FULL_SIZES=1 $(BUILD)/tests/integration/acceptance_itest
	LOG=$(BUILD)/rounds.log tests/integration/slurm/rounds.sh $(BUILD) $(or $(ROUNDS),20) $(ROWS)

# Jobs over several nodes: 200 jobs mixed of one, two and four nodes in one allocation, also with faults; then with real
# Open MPI and MPICH each part of one killed, below Slurm and by ssh, ROUNDS=3 times. Needs root; half an hour the first
# round, a quarter each further one.
test-gang:
	scripts/install-deps.sh build test
	cmake --preset release -DTORC_TESTS=ON
	cmake --build $(BUILD) --target torc ssh_gang_itest slurm_gang_itest
	tests/integration/slurm/mixed.sh $(BUILD)
	for test in ssh slurm; do TORC_GANG_ROUNDS=1 $(BUILD)/tests/integration/$${test}_gang_itest \
	  --gtest_filter='*Death*' --gtest_repeat=$(or $(ROUNDS),3) || exit; done

bench:
	scripts/install-deps.sh build test bench
	cmake --preset release -DTORC_TESTS=ON -DTORC_BENCH=ON
	cmake --build $(BUILD)
	bench/run.sh $(BUILD)

asan:
	scripts/install-deps.sh build test
	cmake --preset asan
	cmake --build build-asan
	ctest --test-dir build-asan --output-on-failure -j $(TEST_JOBS)

tsan:
	scripts/install-deps.sh build test
	cmake --preset tsan
	cmake --build build-tsan
	ctest --test-dir build-tsan --output-on-failure -j $(TEST_JOBS)

# Of both what CI has time for: unit and property tests, and those of what has threads.
asan-unit:
	scripts/install-deps.sh build test
	cmake --preset asan -DTORC_QUICK=ON
	cmake --build build-asan --target unit_tests
	ctest --test-dir build-asan --output-on-failure -j $(TEST_JOBS) -L unit

tsan-threads:
	scripts/install-deps.sh build test
	cmake --preset tsan -DTORC_QUICK=ON
	cmake --build build-tsan --target worker_test exec_queued_test
	ctest --test-dir build-tsan --output-on-failure -j $(TEST_JOBS) -R '^Queued|Committer|Session|Lease'

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

# IN=lib/worker: only folders with that in their path.
tidy:
	scripts/tidy.sh $(IN)

clean:
	rm -rf build build-*
