internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The ingest role: paths, requests of every kind, answers.
enum IngestSteps {
    static let all = [
        CheckStep(
            name: "ingest-paths", rules: [.ingestPaths], role: SBX_ROLE_INGEST, run: paths),
        CheckStep(
            name: "ingest-hostile",
            rules: [.ingestHostile, .ingestEmits, .ingestFinish, .ingestBlocks],
            seconds: 30, role: SBX_ROLE_INGEST, run: hostile),
        CheckStep(
            name: "ingest-huge", rules: [.ingestHuge], seconds: 20, role: SBX_ROLE_INGEST, run: huge
        ),
        CheckStep(
            name: "ingest-samples", rules: [.ingestSamples], seconds: 30, role: SBX_ROLE_INGEST,
            run: samples),
        CheckStep(
            name: "ingest-threads", rules: [.ingestThreads], seconds: 20, role: SBX_ROLE_INGEST,
            run: threads),
    ]

    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private static func paths(_ exam: Examination) {
        guard let (subject, driver) = exam.ingest() else { return }
        defer { subject.end() }
        switch driver.paths() {
        case .failure(let fault):
            exam.findings.fail(.ingestPaths, "paths() answers \(fault.result.text)")
        case .success(let paths):
            if paths.isEmpty {
                exam.findings.skip(.ingestPaths, "with this config the instance serves no path")
            }
            for path in paths { check(path, exam) }
            if Set(paths.map(\.pattern)).count < paths.count {
                exam.findings.fail(.ingestPaths, "a pattern is there twice")
            }
            if case .success(let again) = driver.paths(), again != paths {
                exam.findings.fail(.ingestPaths, "paths() gives other paths the second time")
            }
        }
    }

    private static func check(_ path: IngestPath, _ exam: Examination) {
        let pattern = path.pattern
        func fail(_ words: String) {
            exam.findings.fail(.ingestPaths, "\"\(pattern.prefix(80))\": \(words)")
        }
        if !pattern.hasPrefix("/") { fail("it does not begin with /") }
        if pattern.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) || pattern.contains("?") {
            fail("it has characters that no path has")
        }
        for segment in pattern.split(separator: "/") where segment.contains("{") {
            let name = segment.dropFirst().dropLast()
            if !segment.hasPrefix("{") || !segment.hasSuffix("}") || name.isEmpty
                || name.contains("{")
            {
                fail("\"\(segment)\" is neither a name in braces nor text without them")
            }
        }
        if path.methods.isEmpty { fail("it has no method") }
        for method in path.methods where !methods.contains(method) {
            fail("\"\(method.prefix(20))\" is no method: give them like \"GET,POST\"")
        }
    }

    private static func hostile(_ exam: Examination) {
        guard let (subject, driver) = exam.ingest() else { return }
        defer { subject.end() }
        for request in exam.requests(driver) {
            for (name, body) in HostileRequests.bodies(isLight: exam.order.isLight) {
                exam.findings.doing("handle() of \(request.method) with a body of: \(name)")
                var request = request
                request.body = body
                judge(driver.handle(request), name, .ingestHostile, exam)
            }
            for (name, odd) in HostileRequests.odd(request) {
                exam.findings.doing("handle() of a request with \(name)")
                judge(driver.handle(odd), name, .ingestHostile, exam)
            }
        }
    }

    private static func huge(_ exam: Examination) {
        guard let (subject, driver) = exam.ingest() else { return }
        defer { subject.end() }
        let size = exam.amount(driver.limits.requestBodyBytesMax, light: 64 * 1024)
        for request in exam.requests(driver).prefix(2) {
            for (name, odd) in HostileRequests.huge(request, bytes: size) {
                exam.findings.doing("handle() of \(name)")
                judge(driver.handle(odd), name, .ingestHuge, exam)
            }
        }
    }

    /// Checks what must hold for every answer.
    static func judge(
        _ answer: IngestDriver.Answer, _ name: String, _ rule: CheckRule, _ exam: Examination
    ) {
        guard let made = answer.made else {
            exam.findings.fail(.ingestFinish, "\(name): finish() was not called within 3 s")
            return
        }
        let status = answer.result.status
        let allowed: Set<Int32> = [0, -1, -3, -5, -7, -8, -9]
        if !allowed.contains(status) {
            exam.findings.fail(
                rule,
                "\(name): handle() answers \(answer.result.text), which is not one of its statuses")
        }
        if made.fault?.kind == .timeout {
            exam.findings.fail(
                .ingestFinish, "\(name): the time of defer() passed without finish()")
        } else if answer.status == 500 {
            let words = made.fault?.message ?? "respond(500)"
            exam.findings.fail(
                rule, "\(name): it is answered 500, as a fault of the plugin: \(words.prefix(100))")
        }
        if !answer.result.isOK, answer.result.words.isEmpty, made.answer == nil {
            exam.findings.fail(rule, "\(name): handle() answers \(answer.result.text)")
        }
        for refusal in answer.refusals {
            exam.findings.fail(.ingestEmits, "\(name): \(refusal)")
        }
        for event in made.events {
            guard let words = undeclared(event, exam) else { continue }
            exam.findings.fail(.ingestEmits, "\(name): it emits \(words)")
        }
        for header in made.answer?.headers ?? []
        where header.key.isEmpty || header.key.utf8.contains(where: { $0 <= 0x20 || $0 == 0x3A })
            || header.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 })
        {
            exam.findings.fail(
                .ingestEmits, "\(name): respond() gives a header that breaks the answer")
        }
    }

    /// What an event has that the schema's `emits` does not list, or nil.
    private static func undeclared(_ event: Event, _ exam: Examination) -> String? {
        guard let emits = exam.emits else { return nil }
        let listed = emits.filter { $0.type == event.type }
        guard !listed.isEmpty else {
            return "\"\(event.type)\", which the schema's emits does not list"
        }
        guard let data = try? JSONValue.parse(event.data) else { return nil }
        return undeclared(data, [], listed.flatMap(\.fields)).map {
            "\"\(event.type)\" with the field \"\($0)\", which the schema's emits does not list"
        }
    }

    private static func undeclared(
        _ data: JSONValue, _ path: [String], _ fields: [String]
    ) -> String? {
        guard case .object(let members) = data, path.count < 4 else { return nil }
        for member in members {
            let inner = path + [member.key]
            guard PluginFacts.isKnown(inner, among: fields) else {
                return inner.joined(separator: ".")
            }
            if let found = undeclared(member.value, inner, fields) { return found }
        }
        return nil
    }

    private static func samples(_ exam: Examination) {
        guard let (subject, driver) = exam.ingest() else { return }
        defer { subject.end() }
        guard !exam.samples.requests.isEmpty else {
            exam.findings.leave(
                .ingestSamples, "give requests that it must take with --samples FILE.json")
            return
        }
        for (index, request) in exam.sampleRequests(driver).enumerated() {
            let name = "sample \(index + 1)"
            exam.findings.doing("handle() of \(name)")
            let answer = driver.handle(request)
            judge(answer, name, .ingestSamples, exam)
            if !(200...299).contains(answer.status) {
                exam.findings.fail(
                    .ingestSamples, "\(name) is answered \(answer.status): \(answer.result.text)")
            }
            for (change, body) in HostileRequests.broken(
                request.body, isLight: exam.order.isLight)
            {
                exam.findings.doing("handle() of \(name) with \(change)")
                var broken = request
                broken.body = body
                judge(driver.handle(broken), "\(name) with \(change)", .ingestSamples, exam)
            }
        }
    }

    private static func threads(_ exam: Examination) {
        guard let (subject, driver) = exam.ingest() else { return }
        defer { subject.end() }
        let samples = exam.sampleRequests(driver)
        let plain = exam.requests(driver).map { request in
            var request = request
            request.body = Array("{}".utf8)
            return request
        }
        let requests = samples + plain
        guard !requests.isEmpty else {
            exam.findings.skip(.ingestThreads, "with this config the instance serves no path")
            return
        }
        exam.findings.doing("handle() alone")
        let alone = requests.map { driver.handle($0).status }
        exam.findings.doing("handle() on four threads at once")
        let rounds = exam.amount(25, light: 3)
        Together.run(threads: 4) { _ in
            for _ in 0..<rounds {
                for (index, request) in requests.enumerated() {
                    let status = driver.handle(request).status
                    // What was accepted before may be refused now, but what failed
                    // before must not pass.
                    if (status == 500) != (alone[index] == 500) {
                        exam.findings.fail(
                            .ingestThreads, "a request is answered \(status), alone \(alone[index])"
                        )
                    }
                }
            }
        }
        if exam.plugin?.library.isSerial == true {
            exam.findings.skip(.ingestThreads, "the plugin is SBX_F_SERIAL")
        }
    }
}

extension Examination {
    /// A started instance with its ingest role.
    func ingest(isNewer: Bool = false) -> (Subject, IngestDriver)? {
        guard let plugin, let raw = plugin.role(SBX_ROLE_INGEST, sbx_ingest.self),
            let subject = started(isNewer: isNewer)
        else { return nil }
        let table = Tables.ingest(raw)
        return (subject, IngestDriver(subject: subject, table: table))
    }

    /// A plain request for each path and method.
    func requests(_ driver: IngestDriver) -> [IngestRequest] {
        guard case .success(let paths) = driver.paths() else { return [] }
        return paths.prefix(8).flatMap { path in
            path.methods.prefix(3).map { method in
                request(method, Self.filled(path.pattern), path.pattern)
            }
        }
    }

    /// The author's requests.
    func sampleRequests(_ driver: IngestDriver) -> [IngestRequest] {
        guard case .success(let paths) = driver.paths() else { return [] }
        return samples.requests.map { sample in
            let (path, query) = Self.split(sample.path)
            let pattern = paths.first { Self.matches($0.pattern, path) }?.pattern
            if pattern == nil {
                findings.fail(.ingestSamples, "no pattern of paths() fits the sample's \(path)")
            }
            var made = request(sample.method, path, pattern ?? path)
            made.query = query
            made.body = sample.body
            made.headers = sample.headers
            return made
        }
    }

    private func request(_ method: String, _ path: String, _ pattern: String) -> IngestRequest {
        var made = IngestRequest(
            method: method, path: path, pattern: pattern, body: [],
            receivedUnixMs: services.nowUnixMs)
        made.remote = "127.0.0.1:50000"
        made.headers = [Attribute("content-type", "application/json")]
        let names = pattern.split(separator: "/", omittingEmptySubsequences: false)
        let values = path.split(separator: "/", omittingEmptySubsequences: false)
        for (name, value) in zip(names, values) where name.hasPrefix("{") {
            made.params.append(Attribute(String(name.dropFirst().dropLast()), String(value)))
        }
        return made
    }

    private static func split(_ path: String) -> (String, String) {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    private static func filled(_ pattern: String) -> String {
        pattern.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("{") ? "sample" : String($0) }.joined(separator: "/")
    }

    private static func matches(_ pattern: String, _ path: String) -> Bool {
        let names = pattern.split(separator: "/", omittingEmptySubsequences: false)
        let values = path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == values.count else { return false }
        return zip(names, values).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
    }
}
