# make: builds lib@NAME@.so; make check: the conformance suite
# What the suite gives the plugin: edit check/, and keep the secrets made up.
CHECK = $(patsubst %,--config %,$(wildcard check/config.json)) $(patsubst %,--samples %,$(wildcard check/samples.json)) \
	$(patsubst %,--secret %,$(shell cat check/secrets 2>/dev/null))
lib@NAME@.so: Cargo.toml src/lib.rs
	cargo build --release --offline --target-dir $(or $(BUILD),target)
	cp $(or $(BUILD),target)/release/lib@NAME@.so $@.new && mv -f $@.new $@
.PHONY: check
check: lib@NAME@.so
	$${SIGNALBOX:-signalbox} plugins check ./lib@NAME@.so $(CHECK)
