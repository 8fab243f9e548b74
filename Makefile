# Everything a newcomer needs: `make run` and `make test`. Each does all of its set-up.
.PHONY: run demo test chaos chaos-wire chaos-host chaos-fleet soak bloat bench bench-check event-cost fuzz sanitize docs build install deb tarball sbom package-test setup lint format clean

PORT ?= 8080
ADMIN_PORT ?= 8081

# Simulators and gateway with the shipped gateway.yaml; the Zendesk sample goes through.
DEMO = demo --config gateway.yaml --sample Tests/Fixtures/Zendesk/reply.json

# The program, and the plugins that the shipped gateway.yaml names.
DEMO_PRODUCTS = signalbox Zendesk APNs FCM

# Ctrl-C ends it. A debug build, which takes half the time of an optimised one and which `make test` goes on with.
run:
	@scripts/setup.sh run
	@set -e; for product in $(DEMO_PRODUCTS); do echo "swift build --product $$product"; swift build --product $$product; done
	@.build/debug/signalbox $(DEMO) --listen 127.0.0.1:$(PORT) --admin 127.0.0.1:$(ADMIN_PORT) --stay

# The same optimised and on free ports, then the end: 0 only if both pushes were confirmed.
demo:
	@scripts/setup.sh run
	@set -e; for product in $(DEMO_PRODUCTS); do \
	  echo "$(RELEASE_BUILD) --product $$product"; $(RELEASE_BUILD) --product $$product; done
	@scripts/hardening.sh .build/release signalbox libZendesk.so libAPNs.so libFCM.so
	@.build/release/signalbox $(DEMO) --listen 127.0.0.1:0 --admin 127.0.0.1:0

# Exclusive access is checked in debug builds, which the tests run; release builds leave the check out.
RELEASE_BUILD = swift build -c release -Xswiftc -cross-module-optimization -Xswiftc -enforce-exclusivity=unchecked \
  --toolset scripts/hardening.json

build:
	@scripts/setup.sh build
	$(RELEASE_BUILD)
	scripts/rust-plugins.sh release
	@scripts/hardening.sh .build/release

# Program, library, headers, pkg-config file and plugins into a folder that can be moved.
PREFIX ?= /usr/local
install: build
	@scripts/install.sh "$(DESTDIR)$(PREFIX)" .build/release

# A Debian package, and an archive that can be unpacked anywhere; both in .build/package.
deb: build
	@scripts/setup.sh package
	@scripts/package/deb.sh

tarball: build
	@scripts/package/tarball.sh

# Everything that a build consists of, with versions and licences, as SPDX in .build/signalbox.spdx.json.
sbom: build
	@scripts/sbom.py .build/release "$$(.build/release/signalbox --version)" > .build/signalbox.spdx.json
	@echo "wrote .build/signalbox.spdx.json"

# Installs both into a clean Debian, and runs the service there under systemd. Takes about two minutes, root, and the network.
package-test: deb tarball
	@scripts/package/test.sh

# The tests run the debug build; bench-check, at the end, the optimised one.
# Suites that run compilers and other programs would starve those that watch the clock, so they go second.
HEAVY = AnyText|PrometheusTests|ContractTests|PluginCheckTests|NewPluginTests|WalkTests|EmbeddingTests|ReloadTests|Rust|SMTP|CloudEvents|Isolat|Sandbox|Wire|PageTests
# Those with servers of other projects and the programs of a fleet go last.
DATABASE = Postgres|Fleet|StoreCopy|Balancer|DatabaseOutage|NATS|Kafka|Synapse
test: setup lint
	swift build --build-tests
	@scripts/pins.sh check
	scripts/rust-plugins.sh debug
	@Tests/PluginRig/synapse-server.sh install
	@Tests/PluginRig/zig.sh install
	@scripts/swift-test.sh --skip '$(HEAVY)|$(DATABASE)'
	@scripts/swift-test.sh --filter '$(HEAVY)' --skip '$(DATABASE)'
	@scripts/swift-test.sh --filter '$(DATABASE)'
	@scripts/small.sh
	@.build/debug/signalbox $(DEMO) --listen 127.0.0.1:0 --admin 127.0.0.1:0
	@$(MAKE) bench-check

# The crash test with 20 rounds instead of 3.
chaos: setup
	swift build --build-tests
	SIGNALBOX_CHAOS_ROUNDS=20 swift test --filter CrashTests

# Every fault of the wire to a provider, beside a provider that is well; ONLY=PART,... takes some, SECONDS=N lasts each.
chaos-wire: SECONDS = 5
chaos-wire: build
	@scripts/setup.sh wire
	@scripts/chaos/run.sh wire $(if $(ONLY),--only '$(ONLY)') --seconds $(SECONDS)

# Faults of the host: disk, clock, descriptors, threads, memory, and ROUNDS (24) power cuts; ONLY=PART,... takes some.
chaos-host: build
	@scripts/chaos/run.sh host $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds $(ROUNDS))

# Three gateways behind HAProxy, on PostgreSQL under Patroni and etcd, harmed 50 times; ROUNDS=N and ONLY=HARM,... take less.
chaos-fleet: build
	@scripts/setup.sh fleet
	@scripts/chaos/run.sh fleet $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),--only '$(ONLY)')

# The same fleet under steady load for MINUTES (60): sizes, memory and latency in .build/soak/soak.svg.
soak: build
	@scripts/setup.sh fleet
	@scripts/chaos/run.sh soak --output .build/soak $(if $(MINUTES),--minutes $(MINUTES))

# Sizes of PostgreSQL's tables and what its statements cost, while a transaction stays open; SECONDS=3600 RATE=N for more.
SECONDS ?= 60
RATE ?= 500
bloat: setup
	swift build --product signalbox-bench
	@scripts/chaos/bloat.sh $(SECONDS) $(RATE)

# Every figure beside h2load in the same run; BENCH_JSON=FILE writes them as JSON, BENCH_ONLY=NAME,... takes some.
bench: build
	@scripts/setup.sh bench
	swift build -c release --package-path Benchmarks
	@Benchmarks/.build/release/bench .build/release/signalbox \
	  $(if $(BENCH_JSON),--json '$(BENCH_JSON)') $(if $(BENCH_ONLY),--only '$(BENCH_ONLY)') $(BENCH_FLAGS)

# Instructions per delivery and event, counted by callgrind, against Benchmarks/Thresholds.
# `make test` runs it, too; so it builds no more than it measures. Then some ratios of a few seconds, for the eye.
BENCH_PRODUCTS = signalbox signalbox-bench Zendesk APNs
bench-check:
	@scripts/setup.sh bench
	@set -e; for product in $(BENCH_PRODUCTS); do \
	  echo "$(RELEASE_BUILD) --product $$product"; $(RELEASE_BUILD) --product $$product; done
	scripts/rust-plugins.sh release
	swift build -c release --package-path Benchmarks
	@Benchmarks/.build/release/bench .build/release/signalbox --check Benchmarks/Thresholds
	@Benchmarks/.build/release/bench .build/release/signalbox --short --only sender,end_to_end || true

# Parses, allocations and context switches of one webhook with two pushes.
event-cost: build
	@scripts/setup.sh bench
	@scripts/measure/event-cost.sh

# Every parser of foreign bytes under libFuzzer, SECONDS each (600); ONLY=NAME,... picks, RUNS=N ends sooner. See docs/fuzzing.md.
fuzz: SECONDS = 600
fuzz: setup
	@RUNS='$(RUNS)' scripts/fuzz.sh $(SECONDS) '$(ONLY)'

# Tests under ThreadSanitizer, AddressSanitizer and valgrind; ONLY=thread,address,undefined,rust,valgrind picks. See docs/sanitizers.md.
sanitize: setup
	@scripts/sanitize.sh '$(ONLY)'

# The public Swift libraries' documentation, in .build/documentation; a warning is an error.
docs: setup
	swift build
	scripts/docs.sh

lint: setup
	swift format lint --strict --recursive Package.swift Sources Plugins Tests Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift Fuzz/Sources

format: setup
	swift format --in-place --recursive Package.swift Sources Plugins Tests Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift Fuzz/Sources

setup:
	@scripts/setup.sh

clean:
	rm -rf .build Benchmarks/.build Fuzz/.build run
