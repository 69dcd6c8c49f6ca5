# cudnnd: one Makefile, not recursive but for other platforms and variants of itself.
#   PLATFORM=linux|windows  VARIANT=release|debug|asan|tsan|clang  ->  build/PLATFORM-VARIANT/
# V=1 shows the commands. WERROR=1 makes warnings errors (the checks do).

PLATFORM ?= linux
VARIANT  ?= release
B        := build/$(PLATFORM)-$(VARIANT)
VERSION  := 0.1.0
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
CACHE    := $(shell scripts/setup print cache)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
            -Wundef -Wconversion -Wno-missing-field-initializers $(if $(WERROR),-Werror)
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CFLAGS_debug   := -O0 -g3
CFLAGS_clang   := -O1 -g
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer

ifeq ($(PLATFORM),windows)
CC       := x86_64-w64-mingw32-gcc
AR       := x86_64-w64-mingw32-ar
WINDRES  := x86_64-w64-mingw32-windres
WINDMC   := x86_64-w64-mingw32-windmc
PKG      := PKG_CONFIG_LIBDIR=$(shell scripts/setup print windows-deps)/lib/pkgconfig pkg-config --static
SYSTEM   := win32
OTHER    := posix
EXE      := .exe
CPPFLAGS_PLATFORM := -DUNICODE -D_UNICODE -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1
LDFLAGS  := -static -Wl,--dynamicbase,--nxcompat,--high-entropy-va
LIBS_PLATFORM := -ladvapi32 -lbcrypt -lws2_32
RESOURCES := $(B)/messages.o
else
CC       := $(if $(filter clang,$(VARIANT)),clang,gcc)
PKG      := pkg-config
SYSTEM   := posix
OTHER    := win32
CPPFLAGS_PLATFORM := -D_GNU_SOURCE
LDFLAGS  := -Wl,-z,relro,-z,now -pie
CFLAGS_PLATFORM := -fPIE
LIBS_PLATFORM := -ldl
endif

CPPFLAGS = -I. -I$(B)/gen -include base/banned.h $(CPPFLAGS_PLATFORM) \
           -DCUDNND_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
CFLAGS   = -std=gnu17 -pthread $(WARNINGS) $(CFLAGS_$(VARIANT)) $(CFLAGS_PLATFORM)
LIBRARIES := libmicrohttpd libcjson sqlite3 yaml-0.1
PKG_CFLAGS := $(shell $(PKG) --cflags $(LIBRARIES) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG) --libs $(LIBRARIES) 2>/dev/null)
LIBS       = $(PKG_LIBS) $(LIBS_PLATFORM) -lpthread -lm

# Rooms in the order of ARCHITECTURE.md. A file for the other platform is left out by its name.
ROOMS    := base os/$(SYSTEM) config inventory gpu rules db api service cli
SOURCES  := $(filter-out %_$(OTHER).c,$(foreach room,$(ROOMS),$(wildcard $(room)/*.c)))
OBJECTS  := $(SOURCES:%.c=$(B)/%.o)
MAIN     := $(B)/cli/main.o
LIBRARY  := $(B)/libcudnnd.a
WORKER_SOURCES := $(filter-out %_$(OTHER).c,$(wildcard gpu/worker/*.c))
WORKER_OBJECTS := $(WORKER_SOURCES:%.c=$(B)/%.o)
PROGRAMS := $(B)/cudnnd$(EXE) $(B)/cudnnd-worker$(EXE)

# Data files shipped inside the program: room/name.ext -> gen/room/name.ext.h
DATA     := $(wildcard inventory/*.csv rules/*.csv packaging/systemd/*.service)
DATA_HEADERS := $(DATA:%=$(B)/gen/%.h)

# Tests: tests/<room>/test_*.c one program each; other .c files there are shared by the room's.
TEST_SOURCES := $(wildcard tests/*/test_*.c tests/*/$(SYSTEM)/test_*.c)
TESTS        := $(TEST_SOURCES:%.c=$(B)/%$(EXE))
DOUBLE_PROGRAMS := $(patsubst tests/doubles/%.c,$(B)/doubles/%$(EXE),$(wildcard tests/doubles/worker_double.c tests/doubles/*_$(SYSTEM).c))
ifeq ($(PLATFORM),windows)
DOUBLE_LIBRARIES := $(B)/doubles/nvml.dll $(B)/doubles/nvcuda.dll
else
DOUBLE_LIBRARIES := $(B)/doubles/libnvidia-ml.so.1 $(B)/doubles/libcuda.so.1
endif

# Fuzz targets replay their corpora in the asan build; `make fuzz` runs them for real.
FUZZ_REPLAYS := $(if $(filter asan,$(VARIANT)),$(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c)))

Q := $(if $(V),,@)
SAY = $(if $(V),,@echo "  $(1) $(2)";)

.DEFAULT_GOAL := all
.PHONY: all run check bench windows tests clean help format lint fuzz FORCE
.SECONDARY:

help: ## this text
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

all: $(PROGRAMS) ## the two programs, into build/linux-release/

run: ## installs what is missing, builds, starts the service in the foreground
	@scripts/setup build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@exec $(B)/cudnnd run

check: ## installs what the tests need and runs every test
	@scripts/setup check
	@scripts/check

bench: ## measures, prints ratios (docs/benchmarks.md)
	@scripts/setup check
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tests/bench/run.py

windows: ## the Windows programs, into build/windows-release/
	@scripts/setup windows
	@$(MAKE) --no-print-directory -j$$(nproc) PLATFORM=windows VARIANT=release all

tests: $(TESTS) $(DOUBLE_PROGRAMS) $(DOUBLE_LIBRARIES) $(FUZZ_REPLAYS)

format: ## formats the C sources in place
	@clang-format -i $$(git ls-files '*.c' '*.h')

fuzz: ## runs each fuzzer for FUZZ_SECONDS (default 60) and reports what it found
	@scripts/fuzz $(FUZZ_SECONDS)

clean: ## removes build/
	rm -rf build

# A changed flag, compiler or version rebuilds what it touches.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)' > $@
$(B)/revision: FORCE
	@mkdir -p $(@D)
	@echo '$(REVISION)' | cmp -s - $@ || echo '$(REVISION)' > $@

$(B)/service/build_info.o: CPPFLAGS += -DCUDNND_REVISION='"$(REVISION)"'
$(B)/service/build_info.o: $(B)/revision

$(B)/gen/%.h: % scripts/embed
	@mkdir -p $(@D)
	$(call SAY,DATA,$<)scripts/embed $(subst .,_,$(basename $(subst /,_,$<))) $< > $@.new && mv $@.new $@

$(B)/%.o: %.c $(B)/flags | $(DATA_HEADERS)
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c $< -o $@

$(B)/messages.o: os/win32/messages.mc os/win32/resource.rc $(B)/flags
	@mkdir -p $(B)/gen
	$(call SAY,MC,$<)cd $(B)/gen && $(WINDMC) -b -U $(CURDIR)/os/win32/messages.mc
	$(Q)$(WINDRES) -I$(B)/gen -I. -DVERSION_TEXT='\"$(VERSION)\"' os/win32/resource.rc -o $@

$(LIBRARY): $(filter-out $(MAIN),$(OBJECTS))
	$(call SAY,AR,$@)rm -f $@ && $(or $(AR),ar) rcs $@ $^

$(B)/cudnnd$(EXE): $(MAIN) $(LIBRARY) $(RESOURCES)
	$(call SAY,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(MAIN) $(RESOURCES) $(LIBRARY) $(LIBS)

$(B)/cudnnd-worker$(EXE): $(WORKER_OBJECTS) $(LIBRARY)
	$(call SAY,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(WORKER_OBJECTS) $(LIBRARY) $(LIBS)

# The objects of a room's shared test files: tests/<room>/*.c that are not tests themselves.
# (The API serves what the store's tests make.)
room_support = $(patsubst %.c,$(B)/%.o,$(filter-out tests/$(1)/test_%.c,$(wildcard tests/$(1)/*.c)) \
               $(if $(filter api,$(1)),tests/db/fixture.c))
.SECONDEXPANSION:
$(TESTS): $(B)/%$(EXE): $(B)/%.o $(LIBRARY) $$(call room_support,$$(word 2,$$(subst /, ,$$*)))
	$(call SAY,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS) -lcmocka

$(B)/doubles/%$(EXE): $(B)/tests/doubles/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

$(FUZZ_REPLAYS): $(B)/%: $(B)/%.o $(B)/tests/fuzz/replay.o $(LIBRARY)
	$(call SAY,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

DOUBLE_CFLAGS = -std=gnu17 -O1 -g -shared $(WARNINGS) -Itests/doubles
$(B)/doubles/nvml.dll $(B)/doubles/libnvidia-ml.so.1: tests/doubles/nvml_double.c $(wildcard tests/doubles/*.h)
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)$(CC) $(DOUBLE_CFLAGS) $(if $(EXE),-static,-fPIC -Wl,-soname$(,)libnvidia-ml.so.1) -o $@ $<
$(B)/doubles/nvcuda.dll $(B)/doubles/libcuda.so.1: tests/doubles/cuda_double.c $(wildcard tests/doubles/*.h)
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)$(CC) $(DOUBLE_CFLAGS) $(if $(EXE),-static,-fPIC -Wl,-soname$(,)libcuda.so.1) -o $@ $<
, := ,

-include $(shell find $(B) -name '*.d' 2>/dev/null)
