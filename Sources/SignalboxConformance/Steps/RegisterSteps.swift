internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// The register role.
enum RegisterSteps {
    static let rules = TranslatorRules(
        endpoint: .registerEndpoint, prepare: .registerPrepare, hostile: .registerHostile,
        leaks: .registerLeaks, equal: nil, classify: .registerClassify,
        reasons: .registerReasons, threads: .registerThreads)

    static let all = [
        CheckStep(
            name: "register-prepare",
            rules: [
                .registerPrepare, .registerKinds, .registerEndpoint, .registerLeaks,
                .registerBlocks,
            ],
            seconds: 20, role: SBX_ROLE_REGISTER
        ) { exam in
            exam.register(leaving: [.registerPrepare, .registerLeaks, .registerBlocks]) {
                translator, _ in
                translator.checkBatches()
            }
        },
        CheckStep(
            name: "register-hostile", rules: [.registerHostile], seconds: 20,
            role: SBX_ROLE_REGISTER
        ) { exam in
            exam.register(leaving: [.registerHostile]) { translator, kinds in
                translator.checkOdd(exam.oddChanges(kinds))
            }
        },
        CheckStep(
            name: "register-classify", rules: [.registerClassify, .registerReasons], seconds: 30,
            role: SBX_ROLE_REGISTER
        ) { exam in
            exam.register(leaving: [.registerClassify, .registerReasons]) { translator, _ in
                translator.checkAnswers()
            }
        },
        CheckStep(
            name: "register-threads", rules: [.registerThreads], seconds: 20,
            role: SBX_ROLE_REGISTER
        ) { exam in
            exam.register(leaving: [.registerThreads]) { translator, _ in
                translator.checkThreads()
            }
        },
    ]
}

extension Examination {
    /// Runs a body with a started instance and its register role, for the kinds that it reports.
    func register(
        leaving rules: [CheckRule] = [], isNewer: Bool = false,
        _ body: (TranslatorExam<(id: UInt64, change: DeviceChange)>, [DeviceChange.Kind]) -> Void
    ) {
        guard let plugin, let raw = plugin.role(SBX_ROLE_REGISTER, sbx_register.self),
            let subject = started(isNewer: isNewer)
        else { return }
        defer { subject.end() }
        let table = Tables.register(raw)
        let kinds = DeviceChange.Kind.allCases.filter { table.kinds & (1 << $0.rawValue) != 0 }
        let known = DeviceChange.Kind.allCases.reduce(UInt64(0)) { $0 | 1 << $1.rawValue }
        if kinds.isEmpty {
            findings.fail(
                .registerKinds, "kinds is \(table.kinds): bit n stands for kind n, from 1")
        } else if table.kinds & ~known != 0, plugin.given.pointee.abi_minor <= SBX_ABI_MINOR {
            findings.fail(
                .registerKinds, "kinds has bits for kinds that its contract does not have")
        }
        guard !kinds.isEmpty else { return }
        let driver = TranslatorDriver(subject: subject, app: samples.app)
        let made = MadeUp(samples: samples, nowUnixMs: services.nowUnixMs)
        let translator = TranslatorExam<(id: UInt64, change: DeviceChange)>(
            exam: self, driver: driver, rules: RegisterSteps.rules, noun: "change",
            maxBatch: Int(table.max_batch),
            make: { made.changes($0, kinds: kinds, first: $1) }, id: { $0.id },
            prepare: { driver.prepare($0, table, shape: $1) },
            classify: { driver.classify($0, table.classify, shape: $1) })
        guard translator.checkEndpoint(table.endpoint, mayRefuse: true) else {
            for rule in rules {
                findings.skip(rule, "with this config the instance reports nothing")
            }
            return
        }
        body(translator, kinds)
    }

    /// Changes with one odd part each.
    func oddChanges(
        _ kinds: [DeviceChange.Kind]
    ) -> [(name: String, item: (id: UInt64, change: DeviceChange))] {
        let made = MadeUp(samples: samples, nowUnixMs: services.nowUnixMs)
        var out: [(String, (id: UInt64, change: DeviceChange))] = []
        func add(_ name: String, _ change: (inout Device) -> Void) {
            for kind in kinds {
                var one = made.changes(1, kinds: [kind], first: 9)[0]
                change(&one.change.device)
                out.append(("\(name), \(kind)", one))
            }
        }
        for token in MadeUp.oddTokens {
            add("the token \(token.debugDescription.prefix(24))") { $0.token = token }
            add("the user \(token.debugDescription.prefix(24))") { $0.user = token }
        }
        for platform in ["android", "huawei", "web", "", "of-another-time"] {
            add("the platform \"\(platform)\"") { $0.platform = platform }
        }
        add("an empty device") { $0 = Device() }
        return out
    }
}
