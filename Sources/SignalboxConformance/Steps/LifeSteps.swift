internal import CSignalbox
internal import Glibc
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The life of an instance, from create to destroy.
enum LifeSteps {
    static let all = [
        CheckStep(name: "create", rules: [.lifeCreate], run: create),
        CheckStep(name: "refusals", rules: [.lifeRefusals], run: refusals),
        CheckStep(name: "many", rules: [.lifeMany], run: many),
        CheckStep(
            name: "rounds", rules: [.lifeOrder, .lifeStop, .lifeThreads, .lifeFiles], seconds: 30,
            run: rounds),
        CheckStep(name: "credentials", rules: [.lifeCredentials], run: credentials),
    ]

    private static func create(_ exam: Examination) {
        guard let subject = exam.subject() else { return }
        let result = subject.create()
        guard result.isOK else {
            exam.canCreate = false
            exam.findings.fail(.lifeCreate, "create() answers \(result.text)")
            if exam.order.config == nil {
                exam.findings.fail(
                    .lifeCreate,
                    "the config was made up from the schema: give one with --config FILE.json")
            }
            return
        }
        let started = subject.start()
        if !started.isOK {
            exam.canCreate = false
            exam.findings.fail(.lifeCreate, "start() answers \(started.text)")
        }
        subject.end()
    }

    /// Configs that a schema would have rejected; the plugin must survive them.
    private static func refusals(_ exam: Examination) {
        let configs: [(String, String)] = [
            ("empty text", ""), ("an empty object", "{}"), ("null", "null"), ("a list", "[]"),
            ("a number", "7"), ("text", "\"x\""), ("half an object", "{\"a\":"),
            ("no UTF-8", "\u{0}"), ("an unknown key", "{\"of-another-time\":{\"a\":[1,2,3]}}"),
            ("deep lists", String(repeating: "[", count: 5_000)),
        ]
        for (name, text) in configs { refuse(exam, name, Array(text.utf8)) }
        refuse(exam, "bytes that are no UTF-8", [0x7B, 0x22, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D])
        // The right keys with wrong values.
        for wrong in [JSONValue.null, .integer(-1), .string(""), .array([]), .object([])] {
            guard case .object(let members) = exam.config?.json else { continue }
            let broken = JSONValue.object(members.map { .init($0.key, wrong) })
            refuse(exam, "every key with \(wrong.text)", Array(broken.text.utf8))
        }
    }

    private static func refuse(_ exam: Examination, _ name: String, _ config: [UInt8]) {
        guard let subject = exam.subject() else { return }
        exam.findings.doing("create() with a config of \(name)")
        let result = subject.create(json: config)
        if result.isOK {
            subject.end()
            return
        }
        if result.words.isEmpty {
            exam.findings.fail(.lifeRefusals, "create() refuses \(name) without words")
        }
        if !(-4...(-1)).contains(result.status) {
            exam.findings.fail(.lifeRefusals, "create() refuses \(name) with \(result.text)")
        }
    }

    /// Three instances at once, which end in another order than they began.
    private static func many(_ exam: Examination) {
        let subjects = (1...3).compactMap { exam.subject(name: "checked-\($0)") }
        for (index, subject) in subjects.enumerated() {
            exam.findings.doing("creating instance \(index + 1) of 3")
            guard subject.create().isOK else {
                exam.findings.fail(
                    .lifeMany, "instance \(index + 1) cannot be created beside others")
                return
            }
        }
        if Set(subjects.map(\.raw)).count < subjects.count {
            exam.findings.fail(.lifeMany, "two instances are the same")
            return
        }
        for (index, subject) in subjects.enumerated() {
            exam.findings.doing("starting instance \(index + 1) of 3")
            let started = subject.start()
            if started.isOK { continue }
            exam.findings.fail(
                .lifeMany,
                "instance \(index + 1) cannot be started beside others: \(started.text)")
        }
        for index in [1, 2, 0] {
            exam.findings.doing("ending instance \(index + 1) of 3")
            subjects[index].end()
        }
    }

    private static func rounds(_ exam: Examination) {
        // A first round before counting: what a library creates on first use may stay.
        round(exam, starts: true)
        let (threads, files) = (ProcessCounts.threads, ProcessCounts.files)
        for count in 1...exam.amount(50, light: 5) {
            exam.findings.doing("round \(count) of create, destroy")
            round(exam, starts: false)
            exam.findings.doing("round \(count) of create, start, stop, destroy")
            round(exam, starts: true)
            if exam.findings.hasFailed(.lifeOrder) || exam.findings.hasFailed(.lifeStop) { return }
        }
        let left = settled { ProcessCounts.threads.subtracting(threads) }
        if !left.isEmpty {
            let names = Set(left.map { ProcessCounts.name(ofThread: $0) }).sorted()
            exam.findings.fail(
                .lifeThreads, "\(left.count) threads are left: \(names.joined(separator: ", "))")
        }
        guard !ProcessCounts.files.isEmpty else {
            exam.findings.fail(
                .lifeFiles, "no descriptor is free any more, not even to count them")
            return
        }
        let more = settled { Set(ProcessCounts.files.keys).subtracting(files.keys) }
        if !more.isEmpty {
            let targets = Set(more.compactMap { ProcessCounts.files[$0] }).sorted().prefix(3)
            exam.findings.fail(
                .lifeFiles,
                "\(more.count) descriptors are left: \(targets.joined(separator: ", "))")
        }
    }

    private static func round(_ exam: Examination, starts: Bool) {
        guard let subject = exam.subject() else { return }
        let made = subject.create()
        guard made.isOK else {
            exam.findings.fail(.lifeOrder, "create() answers \(made.text) in a later round")
            return
        }
        guard starts else {
            subject.end()
            return
        }
        let started = subject.start()
        if !started.isOK {
            exam.findings.fail(.lifeOrder, "start() answers \(started.text) in a later round")
        }
        subject.end()
    }

    /// What is left after ending threads have had a second to do so.
    private static func settled(_ look: () -> Set<String>) -> Set<String> {
        let deadline = SystemClock.monotonicNs + 1_000_000_000
        var left = look()
        while !left.isEmpty, SystemClock.monotonicNs < deadline {
            usleep(5_000)
            left = look()
        }
        return left
    }

    private static func credentials(_ exam: Examination) {
        guard let subject = exam.started(refreshes: false) else { return }
        let refreshed = subject.refresh()
        if refreshed.isEmpty {
            exam.findings.skip(.lifeCredentials, "the plugin defines no credential")
        }
        for refresh in refreshed {
            guard let fault = refresh.fault else { continue }
            exam.findings.fail(
                .lifeCredentials,
                "the refresh of \"\(refresh.name)\" fails: \(fault.message)")
            if let call = exam.services.calls.last?.text {
                exam.findings.fail(
                    .lifeCredentials,
                    "it called \(call): give the answer under \"answers\" with --samples FILE.json")
            }
        }
        subject.end()
    }
}

extension Examination {
    /// An instance to create; nil if the plugin or its config is missing.
    func subject(name: String = "checked", isNewer: Bool = false) -> Subject? {
        guard let plugin, let config else { return nil }
        return Subject(plugin, name: name, config: config, services: services, isNewer: isNewer)
    }

    /// A started instance with its credentials; nil after a reported failure.
    func started(isNewer: Bool = false, refreshes: Bool = true) -> Subject? {
        guard let subject = subject(isNewer: isNewer), subject.create().isOK else { return nil }
        guard subject.start().isOK else {
            subject.end()
            return nil
        }
        if refreshes { _ = subject.refresh() }
        return subject
    }
}
