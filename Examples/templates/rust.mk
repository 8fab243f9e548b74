# make: builds lib@NAME@.so; make check, make run, make try: README.md
BUILD = target

lib@NAME@.so: Cargo.toml src/lib.rs
	cargo build --release --offline --target-dir $(BUILD)
	cp $(BUILD)/release/lib@NAME@.so $@.new && mv -f $@.new $@

include signalbox.mk
