# make            build/dfg                 make check      every test but long ones; installs what is missing
# make demo       trains a network          make lint       the rules of the code
# make check-net, check-long: what requires other machines, and what takes long
# make asan|ubsan|tsan, fuzz, fuzz-programs, torture, bench, bench-peers, coverage, install, uninstall, dist, deps, clean
# V=1 shows commands, CC=clang changes the compiler, O=DIR builds elsewhere, CASES=DIR adds cases to check.
ifeq ($(origin CC),default)
CC = gcc
endif
O = build
# Jobs of a build that runs by itself, unless the caller gives their number.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
NM = $(if $(findstring clang,$(CC)),llvm-nm,nm)
PREFIX = /usr/local
VERSION = 0.1.0

CFLAGS = -O2 -g
WARN = -Wall -Wextra -Werror
KEEP = -std=gnu11 -ffp-contract=off -fwrapv -fno-math-errno -fno-trapping-math -pthread -I. -I$(O) -DDFG_VERSION='"$(VERSION)"'
COMPILE = $(CC) $(KEEP) $(CFLAGS) $(WARN) $(EXTRA) -MMD -MP
LIBS = -lprotobuf-c -lz -ldl -lm -lpthread

LIBRARY = $(wildcard lib/*/*.c lib/*/*/*.c formats/*.c kernels/*.c kernels/*/*.c remote/*.c remote/*/*.c app/*.c app/*/*.c)
PROTO = $(wildcard formats/*.proto)
STD = $(sort $(wildcard lib/lang/std/*.dfg))
OBJECTS = $(LIBRARY:%.c=$(O)/%.o) $(PROTO:%.proto=$(O)/%.pb-c.o) $(if $(STD),$(O)/std.o) $(O)/page.o
COMMANDS = $(patsubst %.c,$(O)/%.o,$(wildcard cmd/*.c))
UNIT = $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*.c))
FUZZ = $(patsubst %.c,$(O)/%.o,$(filter-out %/libfuzzer.c,$(wildcard tests/fuzz.d/*.c)))
BENCH = $(patsubst %.c,$(O)/%,$(wildcard bench/*.c))
PAGES = $(patsubst man/%.in,$(O)/man/%,$(wildcard man/*.in)) $(patsubst man/%,$(O)/man/%,$(wildcard man/*.[1-9]))
Q = $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)	$(2)')

all: $(O)/dfg
.PHONY: all
.SECONDARY:
.DELETE_ON_ERROR:

# The program.

$(O)/dfg: $(COMMANDS) $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -Wl,--build-id=sha1 -o $@ $^ $(LIBS)

$(O)/libdfg.a: $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $^

$(O)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(COMPILE) -c -o $@ $<

$(O)/%.o: $(O)/%.c
	$(call say,CC,$<)
	$(Q)rm -f $@ && $(COMPILE) -c -o $@ $<

# Kernels are loops over arrays.
$(O)/kernels/%.o $(O)/lib/graph/convert.o $(O)/lib/graph/half.o: CFLAGS += -O3
# Kernels that call a library, read a header or print once for a whole tensor: small code serves them as well.
SMALL = assert checkpoint decode_bmp decode_jpeg decode_png encode_image files image_file jpeg_library optional png_library print \
	queue_types summary table_file tensor_message wav
$(SMALL:%=$(O)/kernels/%.o): CFLAGS += -Os

# The loop of an interpreter costs a sixth more where it crosses a line of the instruction cache.
$(O)/lib/exec/linear/interpreter.o $(O)/lib/exec/linear/register_vm.o: CFLAGS += -falign-loops=64

# protobuf-c's own code is not ours to warn about.
$(O)/%.pb-c.o: WARN =
$(O)/%.pb-c.c: %.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(@D) && protoc-c --c_out=$(O) $<
$(O)/%.pb-c.h: $(O)/%.pb-c.c ;
$(patsubst %.c,$(O)/%.o,$(wildcard formats/*.c tests/unit/*.c)) $(PROTO:%.proto=$(O)/%.pb-c.o): $(PROTO:%.proto=$(O)/%.pb-c.c)

# The standard library of the language, as bytes: one array a file and a table of them.
$(O)/page.c: app/serving/page.html Makefile
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && { echo 'const char dfg_serving_page[] = {'; od -An -v -td1 $< | sed 's/[0-9]\+/&,/g'; echo '0};'; } >$@

$(O)/std.c: $(STD) Makefile
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && { \
	  for f in $(STD); do n=$$(basename $$f .dfg); \
	    echo "static const char std_$$n[] = {"; od -An -v -td1 $$f | sed 's/[0-9]\+/&,/g'; echo "0};"; done; \
	  echo 'const struct { const char *name, *text; unsigned long length; } dfg_lang_std_files[] = {'; \
	  for f in $(STD); do n=$$(basename $$f .dfg); echo "{\"$$n\", std_$$n, sizeof std_$$n - 1},"; done; \
	  echo '{0, 0, 0}};'; } >$@

# From symbols: a linker section or constructor is lost in an archive that nobody names; text is not what macros make of it.
$(O)/ops.def: $(patsubst %.c,$(O)/%.o,$(wildcard kernels/*.c)) FORCE
	@mkdir -p $(@D) && $(NM) --defined-only $(filter %.o,$^) | awk '$$3 ~ /^dfg_op_[A-Z_]/ {print "OP(" $$3 ")"}' | LC_ALL=C sort >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(O)/lib/graph/registry.o: $(O)/ops.def
FORCE:

# Devices. Kernels are kernels/X.cu, which compile for the stand-in for CUDA wherever there is a C++ compiler: a library that
# dfg opens, and the program that is a device. The hash of all that both sides of a device must agree on is in each. A row that
# selects an operand moves its bits: without if-conversion it is not a minss, which flushes a denormal. The functions of
# kernels/special.c are calls, as on the host: if they were inlined, a float that becomes a double and a float again would be
# moved, though the conversion flushes.

# g++ even where CC is clang, which lacks the options by which selections and calls keep denormals.
CXX_OF = g++
CUDA_KERNELS = $(patsubst kernels/%.cu,$(O)/standin/%.o,$(wildcard kernels/*.cu))
STANDIN = $(patsubst kernels/cuda/standin/%.c,$(O)/standin/host/%.o,$(wildcard kernels/cuda/standin/*.c))
CUDA_SOURCES = $(sort $(wildcard kernels/*.cu kernels/cuda/*.cuh kernels/cuda/*/*.[ch] kernels/row_*.h lib/exec/device/*.def \
  lib/exec/device/api.h lib/exec/device/*_launch.h) kernels/activation.def kernels/arithmetic.def kernels/elementwise.def \
  kernels/logic.def kernels/device_function.h kernels/double_double.h kernels/integer.h kernels/math.h kernels/special.c kernels/special.h \
  kernels/trigonometry.c lib/graph/half_bits.h)

standin: $(O)/dfg-cuda-standin.so
.PHONY: standin
$(O)/device_build.h: $(CUDA_SOURCES) Makefile
	@mkdir -p $(@D) && echo "#define DFG_DEVICE_BUILD \"$$(cat $(CUDA_SOURCES) | sha256sum | cut -c1-16)\"" >$@
$(O)/lib/exec/device/provider.o: $(O)/device_build.h
$(O)/standin/%.o: kernels/%.cu
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX_OF) $(filter-out -std=gnu11,$(KEEP)) -std=gnu++17 -fno-exceptions -fno-rtti $(CFLAGS) $(WARN) \
	  -Wno-unused-function -fno-if-conversion -fno-inline-functions -fno-inline-small-functions \
	  -fno-inline-functions-called-once $(EXTRA) -MMD -MP -x c++ -c -o $@ $<
$(O)/cuda_kernels.def: $(CUDA_KERNELS)
	@$(NM) --defined-only $^ | sed -n 's/.* T dfg_\([a-z]*\)_kernel_\(.*\)/KERNEL(\1, \2)/p' | LC_ALL=C sort -k 2 >$@
$(O)/standin/host/%.o: kernels/cuda/standin/%.c $(O)/cuda_kernels.def $(O)/device_build.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(COMPILE) -fPIC -fvisibility=hidden -c -o $@ $<
$(O)/dfg-cuda-standin-device: $(O)/standin/host/device.o $(CUDA_KERNELS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -o $@ $^ -lm -lpthread
$(O)/dfg-cuda-standin.so: $(filter-out %/device.o,$(STANDIN)) $(O)/dfg-cuda-standin-device
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -shared -o $@ $(filter %.o,$^) -ldl -lpthread

# Pages: prose from man/, options and tables from the program. A page that is a .in names its command.

man: $(PAGES)
$(O)/man/%: man/%.in $(O)/dfg
	@mkdir -p $(@D) && $(O)/dfg __man $(patsubst dfg-%,%,$(basename $(@F))) <$< >$@
$(O)/man/%: man/%
	@mkdir -p $(@D) && cp $< $@
.PHONY: man

# Tests. check-quick is what a change must pass while it is made, check is all.

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(LIBS)

$(O)/tests/unit/fuzz_corpus: $(FUZZ)
$(O)/tests/unit/device $(O)/tests/unit/device_rows: $(O)/dfg-cuda-standin.so

unit: $(UNIT)
	@tests/run unit $(UNIT)
check-quick: $(O)/dfg $(O)/dfg-cuda-standin.so unit
	@DFG=$(O)/dfg tests/run quick
check-net: $(O)/dfg
	@DFG=$(O)/dfg tests/run net
check-long: $(O)/dfg $(O)/tests/unit/random_programs
	@DFG=$(O)/dfg tests/run long $(O)/tests/unit/random_programs
check: deps
	@$(MAKE) $(JOBS) --no-print-directory $(O)/dfg $(O)/dfg-cuda-standin.so $(UNIT) man
	@DFG=$(O)/dfg CC="$(CC)" CASES="$(CASES)" tests/run all $(UNIT)
.PHONY: unit check check-quick check-net check-long

# The same tests under a sanitizer, in a tree of their own. What sanitizers put in hides from gcc what is initialised.
# TSan does not follow the fences of shared memory, which order words that are atomic anyway.
SANITIZE_asan = address,undefined
SANITIZE_ubsan = undefined
SANITIZE_tsan = thread -Wno-tsan
asan ubsan tsan:
	@$(MAKE) --no-print-directory O=build/$@ CFLAGS='-O1 -g' \
	  EXTRA='-fsanitize=$(SANITIZE_$@) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized' check-quick
.PHONY: asan ubsan tsan

torture: $(O)/dfg
	@DFG=$(O)/dfg tests/torture all
fuzz-programs: asan
	@DFG=build/asan/dfg tests/run fuzz build/asan/tests/unit/random_programs

# libFuzzer searches each target of tests/fuzz.d for FUZZ_SECONDS, or those that FUZZ_TARGETS names.
FUZZ_SECONDS = 900
fuzz:
	@$(MAKE) --no-print-directory O=build/fuzz CC=clang CFLAGS='-O1 -g' \
	  EXTRA='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' \
	  build/fuzz/fuzz_targets
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz_targets build/fuzz/fuzz_targets $(FUZZ_TARGETS)
$(O)/fuzz_targets: $(FUZZ) $(O)/tests/fuzz.d/libfuzzer.o $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -fsanitize=fuzzer -o $@ $^ $(LIBS)
coverage:
	@$(MAKE) --no-print-directory O=build/coverage CFLAGS='-O0 -g' EXTRA=--coverage check-quick
	@cd build/coverage && find . -name '*.gcda' -exec gcov -n {} + 2>/dev/null | tests/coverage
.PHONY: torture fuzz fuzz-programs coverage

lint:
	@tests/lint/run
.PHONY: lint

# Benches print ratios against peers in one run; peers that are not there are said to be absent.

$(O)/bench/%: $(O)/bench/%.o $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -o $@ $^ $(LIBS)
bench: $(O)/dfg $(BENCH)
	@DFG=$(O)/dfg O=$(O) bench/run
bench-peers:
	@python3 -m venv build/peers && build/peers/bin/pip install -q -r bench/peers.txt
.PHONY: bench bench-peers

# Installs the packages that are missing, and lists them first; does nothing if all are installed.

deps:
	@tests/deps
deps-mpi: # the two libraries that tests/cli/mpi.sh runs with
	@tests/deps openmpi-bin mpich
demo: deps
	@$(MAKE) $(JOBS) --no-print-directory $(O)/dfg
	@DFG=$(O)/dfg examples/demo
.PHONY: deps deps-mpi demo

install: $(O)/dfg man
	install -Dm755 $(O)/dfg $(DESTDIR)$(PREFIX)/bin/dfg
	for p in $(notdir $(PAGES)); do install -Dm644 $(O)/man/$$p $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
	install -Dm644 completions/dfg.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/dfg
	install -Dm644 completions/_dfg $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_dfg
	install -Dm644 completions/dfg.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/dfg.fish
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/dfg $(DESTDIR)$(PREFIX)/share/bash-completion/completions/dfg \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_dfg $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/dfg.fish
	for p in $(notdir $(PAGES)); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
dist:
	git archive --prefix=dfg-$(VERSION)/ -o dfg-$(VERSION).tar.gz HEAD
clean:
	rm -rf build
.PHONY: install uninstall dist clean

-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
