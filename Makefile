# ratelite: `make help` lists the targets.
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
ABI     := $(shell sed -n 's/.*RL_ABI_VERSION: c_int = \(.*\);/\1/p' src/capi/types.rs)
RELEASE := target/release
# The generated header and PHP declarations of the newest build.
GENERATED = $(dir $(shell ls -t $(RELEASE)/build/ratelite-*/out/ratelite.h | head -1))

.PHONY: help build header demo test lint test-rust test-python test-php soak bench install clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: ## the shared library, in target/release
	cargo build --release

header: build ## renew the committed C header and PHP declarations from src/capi
	cp $(GENERATED)ratelite.h include/
	cp $(GENERATED)ratelite.cdef.h bindings/php/

clean: ## remove everything that was built
	cargo clean
