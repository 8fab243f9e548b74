# What `make check` and `make run` do; Makefile says how the library is built.
SIGNALBOX ?= signalbox
RUN ?= --control-port 8082
# What the suite gives the plugin: edit check/, and keep the secrets made up.
CHECK = $(patsubst %,--config %,$(wildcard check/config.json)) $(patsubst %,--samples %,$(wildcard check/samples.json)) \
	$(patsubst %,--secret %,$(shell cat check/secrets 2>/dev/null))

.PHONY: check run try
check: lib@NAME@.so
	$(SIGNALBOX) plugins check ./lib@NAME@.so $(CHECK)

run: lib@NAME@.so
	$(SIGNALBOX) demo --config gateway.yaml --no-webhook $(RUN)

try:
	sh try.sh
