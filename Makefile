# ratelite: `make help` lists the targets.
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
ABI     := $(shell sed -n 's/.*RL_ABI_VERSION: c_int = \(.*\);/\1/p' src/capi/types.rs)
RELEASE := target/release
LIBRARY := $(RELEASE)/libratelite.so
SOURCES := Cargo.toml Cargo.lock build.rs $(shell find src -type f)
# The generated header and PHP declarations of the newest build.
GENERATED = $(dir $(shell ls -t $(RELEASE)/build/ratelite-*/out/ratelite.h | head -1))
# What the tests of the core need of Debian.
PACKAGES := gcc g++ libc6-dev binutils clang valgrind pkg-config sqlite3 libsqlite3-dev \
            libjemalloc2 util-linux php-cli redis-server openssl

.PHONY: help build header demo demo-redis test setup lint test-rust test-python test-php test-languages \
        test-durable-hit test-no-table test-benches bench bench-quick bench-defences soak install clean
.NOTPARALLEL: # the parts of `test` share two cores and one build directory

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: ## the shared library, in target/release
	cargo build --release

header: build ## renew the committed C header and PHP declarations from src/capi
	cp $(GENERATED)ratelite.h include/
	cp $(GENERATED)ratelite.cdef.h bindings/php/

demo: target/demo/quickstart target/demo/gateway ## run the examples on a store, and look into it
	@$(MAKE) --no-print-directory setup PACKAGES='sqlite3 php-cli'
	@directory=$$(mktemp -d); trap 'rm -r "$$directory"' EXIT; store=$$directory/limits.db; set -ex; \
	target/demo/quickstart "$$store"; \
	target/demo/gateway "$$store"; \
	PYTHONPATH=bindings/python RATELITE_LIBRARY=$(CURDIR)/$(LIBRARY) \
	    python3 bindings/python/examples/quickstart.py "$$store"; \
	RATELITE_LIBRARY=$(CURDIR)/$(LIBRARY) php bindings/php/examples/quickstart.php "$$store"; \
	tests/three_languages/run; \
	sqlite3 -box "$$store" 'select * from rate_limit_status'

demo-redis: target/demo/quickstart ## the same on a Redis of its own, in place of a file
	@$(MAKE) --no-print-directory setup PACKAGES='redis-server php-cli'
	@directory=$$(mktemp -d); socket=$$directory/socket; store=redis+unix://$$socket; \
	redis-server --port 0 --unixsocket "$$socket" --save '' --dir "$$directory" >"$$directory/log" & \
	trap "kill $$!; wait $$!; rm -r '$$directory'" EXIT; \
	until redis-cli -s "$$socket" ping >/dev/null 2>&1; do sleep 0.05; done; set -ex; \
	target/demo/quickstart "$$store"; \
	PYTHONPATH=bindings/python RATELITE_LIBRARY=$(CURDIR)/$(LIBRARY) \
	    python3 bindings/python/examples/quickstart.py "$$store"; \
	RATELITE_LIBRARY=$(CURDIR)/$(LIBRARY) php bindings/php/examples/quickstart.php "$$store"; \
	tests/three_languages/run "$$store"; \
	redis-cli -s "$$socket" keys 'ratelite:*'; \
	redis-cli -s "$$socket" hgetall 'ratelite:{alice}:quickstart'

target/demo/%: bindings/c/%.c include/ratelite.h | build
	@mkdir -p $(@D)
	$(CC) -Wall -Wextra -Iinclude $< -o $@ -L$(RELEASE) -lratelite -Wl,-rpath,'$(CURDIR)/$(RELEASE)'

test: setup lint test-rust test-python test-php test-languages test-durable-hit test-no-table test-benches ## everything, and what it needs

setup: ## install what the tests of the core need of Debian, if it is missing
	@dpkg -s $(PACKAGES) >/dev/null 2>&1 || \
	if [ "$$(id -u)" = 0 ]; then \
	    apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -q -y --no-install-recommends $(PACKAGES); \
	else \
	    echo "Packages are missing: sudo apt-get install $(PACKAGES)" >&2; exit 1; \
	fi

lint: ## formatting, and warnings as errors
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --no-deps --quiet

test-rust: ## the core and its C interface
	cargo test --release

test-python: build ## the Python binding
	@python3 -c 'import ensurepip' || $(MAKE) --no-print-directory setup PACKAGES=python3-venv
	bindings/python/test

test-php: build ## the PHP binding
	bindings/php/test

test-languages: build ## C, Python and PHP at once on one store
	tests/three_languages/run

# The library with another default durability, and the tests for which it matters how hits are counted.
# (`faults` tries both wherever it runs.)
DURABLE_HIT := target/attack/durable-hit/libratelite.so
STORE_TESTS := c clock files fork format growth hosts kills locks model secrets semantics store turns
HOST_TESTS  := c fork hosts kills locks turns

test-durable-hit: build ## the same, where each hit is in the file before it is answered
	RATELITE_TEST=hit cargo test --release $(STORE_TESTS:%=--test %)
	RATELITE_LIBRARY=$(CURDIR)/$(DURABLE_HIT) bindings/python/test
	RATELITE_LIBRARY=$(CURDIR)/$(DURABLE_HIT) bindings/php/test

test-no-table: build ## what programs do with the library, where it has no shared table
	RATELITE_TEST=rows cargo test --release $(HOST_TESTS:%=--test %)
	RATELITE_TEST=rows cargo test --release --test faults -- hits_survive hits_that_move rewrites_frames disk_full

test-benches: build ## the harness of the benchmarks, and the workers that need no peer
	benches/harness/test

bench: build ## beside other rate limiters, in 30 minutes: benches/RESULTS.md
	benches/run

bench-quick: build ## less of it, in 7 minutes: target/bench/quick/RESULTS.md
	benches/run --quick

bench-defences: setup ## what the defences of locks and forks cost, against builds without them
	cargo bench --bench defences

soak: setup ## the core's tests in their long form, then an hour of fuzzing
	RATELITE_SOAK=1 cargo test --release
	fuzz/run 720

$(LIBRARY): $(SOURCES)
	cargo build --release

install: $(LIBRARY) ## the header, the library and ratelite.pc below PREFIX (LIBDIR, DESTDIR)
	install -D -m 644 include/ratelite.h '$(DESTDIR)$(PREFIX)/include/ratelite.h'
	install -D -s -m 755 $(LIBRARY) '$(DESTDIR)$(LIBDIR)/libratelite.so.$(VERSION)'
	ln -sf libratelite.so.$(VERSION) '$(DESTDIR)$(LIBDIR)/libratelite.so.$(ABI)'
	ln -sf libratelite.so.$(ABI) '$(DESTDIR)$(LIBDIR)/libratelite.so'
	install -d '$(DESTDIR)$(LIBDIR)/pkgconfig'
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	    bindings/c/ratelite.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/ratelite.pc'
	[ -n '$(DESTDIR)' ] || ldconfig 2>/dev/null || true

clean: ## remove everything that was built
	cargo clean
