# make: builds lib@NAME@.so; make check: the conformance suite
lib@NAME@.so: Cargo.toml src/lib.rs
	cargo build --release --offline --target-dir $(or $(BUILD),target)
	cp $(or $(BUILD),target)/release/lib@NAME@.so $@.new && mv -f $@.new $@
check: lib@NAME@.so
	$${SIGNALBOX:-signalbox} plugins check ./lib@NAME@.so
