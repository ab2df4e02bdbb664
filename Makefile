# make            build/dfg                 make check      every test; installs what is missing
# make demo       trains a network          make lint       the rules of the code
# make asan|ubsan|tsan, fuzz, bench, coverage, install, dist, clean. V=1 shows commands, CC=clang changes the compiler.
CC = gcc
O = build
NM = $(if $(findstring clang,$(CC)),llvm-nm,nm)
PREFIX = /usr/local
VERSION = 0.1.0

CFLAGS = -O2 -g
WARN = -Wall -Wextra -Werror
KEEP = -std=gnu11 -ffp-contract=off -fwrapv -fno-math-errno -fno-trapping-math -pthread -I. -I$(O) -DDFG_VERSION='"$(VERSION)"'
COMPILE = $(CC) $(KEEP) $(CFLAGS) $(WARN) $(EXTRA) -MMD -MP
LIBS = -lprotobuf-c -lz -ldl -lm -lpthread

LIB = $(wildcard lib/*/*.c)
LIBRARY = $(LIB) $(wildcard formats/*.c kernels/*.c)
PROTO = $(wildcard formats/*.proto)
STD = $(sort $(wildcard lib/lang/std/*.dfg))
OBJECTS = $(LIBRARY:%.c=$(O)/%.o) $(PROTO:%.proto=$(O)/%.pb-c.o) $(if $(STD),$(O)/std.o)
COMMANDS = $(patsubst %.c,$(O)/%.o,$(wildcard cmd/*.c))
UNIT = $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*.c))
Q = $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)	$(2)')

all: $(O)/dfg
.PHONY: all
.SECONDARY:
.DELETE_ON_ERROR:


$(O)/dfg: $(COMMANDS) $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -o $@ $^ $(LIBS)

$(O)/libdfg.a: $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $^

$(O)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(COMPILE) -c -o $@ $<

$(O)/%.o: $(O)/%.c
	$(call say,CC,$<)
	$(Q)$(COMPILE) -c -o $@ $<

# Kernels are loops over arrays.
$(O)/kernels/%.o: CFLAGS += -O3

# protobuf-c's own code is not ours to warn about.
$(O)/%.pb-c.o: WARN =
$(O)/%.pb-c.c: %.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(@D) && protoc-c --c_out=$(O) $<
$(O)/%.pb-c.h: $(O)/%.pb-c.c ;
$(patsubst %.c,$(O)/%.o,$(wildcard formats/*.c)): $(PROTO:%.proto=$(O)/%.pb-c.c)

# The standard library of the language, as bytes: one array a file and a table of them.
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
	@cmp -s $@.new $@ || mv $@.new $@
$(O)/lib/graph/registry.o: $(O)/ops.def
FORCE:

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libdfg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(EXTRA) -o $@ $^ -lcmocka $(LIBS)

unit: $(UNIT)
	@for t in $(UNIT); do $$t || exit 1; done
.PHONY: unit

clean:
	rm -rf build
.PHONY: clean

-include $(shell find $(O) -name '*.d' 2>/dev/null)
