internal import Glibc
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost

/// Starts examining processes, watches how they end, and combines their findings.
struct CheckSupervisor {
    /// What one process reported.
    private struct Progress {
        var step: String?
        var doing = ""
        /// The plugin's function that was called last.
        var calling = ""
        /// `: round 1 of create, destroy, in destroy()`, or nothing.
        var place: String {
            let parts = [doing, calling.isEmpty ? "" : "in \(calling)"].filter { !$0.isEmpty }
            return parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))"
        }
        var done: [String] = []
        var isComplete = false
    }

    private var order: CheckOrder
    private let command: [String]
    private var verdicts = CheckVerdicts()
    private var title: String
    private var notes: [String] = []
    private var canLoad = true
    private var faults: [MemoryFault] = []

    init(order: CheckOrder, command: [String]) {
        self.order = order
        self.command = command
        title = order.file
    }

    var report: CheckReport {
        CheckReport(
            title: title, notes: notes,
            lines: verdicts.lines(
                otherwise: canLoad
                    ? "there is no instance to look at" : "the plugin cannot be loaded"))
    }

    mutating func run(checksMemory: Bool) {
        guard let elf = checkFile() else { return }
        var environment: [String: String] = [:]
        var sanitizer: String?
        if elf.isSanitized {
            sanitizer = MemoryTools.sanitizer(for: elf)
            guard let sanitizer else {
                canLoad = false
                verdicts.add(
                    .entryLoads, .fail,
                    "it was compiled with AddressSanitizer, whose runtime is not installed")
                return
            }
            environment = MemoryTools.environment(sanitizer: sanitizer)
            order.isSanitized = true
        }
        examine(environment: environment)
        guard checksMemory else {
            leaveMemory("it was not asked for")
            return
        }
        if sanitizer != nil {
            judgeMemory()
        } else if !canLoad || verdicts.hasFailed(.lifeCreate) || verdicts.hasFailed(.configValues) {
            leaveMemory("there is no instance to look at")
        } else {
            runValgrind()
        }
    }

    private mutating func checkFile() -> ELFFile? {
        do throws(LoadFault) {
            try FileRules.check(order.file)
            verdicts.add(.fileMode, .pass, "")
        } catch {
            canLoad = false
            verdicts.add(.fileMode, .fail, error.message)
            return nil
        }
        guard case .success(let bytes) = FileReader.read(order.file), let elf = ELFFile(bytes)
        else {
            canLoad = false
            verdicts.add(.entryLoads, .fail, "\(order.file) is not a shared library of 64 bits")
            return nil
        }
        FileRuleCheck.check(elf, &verdicts)
        return elf
    }

    /// Runs processes until all steps are done. A process that ends early costs its current step.
    private mutating func examine(environment: [String: String]) {
        for _ in 0...CheckSteps.all.count {
            let (progress, output) = process(command, environment: environment, slowness: 1)
            order.done = progress.done
            guard let output else { return }
            faults += SanitizerReport.faults(in: output.errors, plugin: order.file)
            judge(output)
            if progress.isComplete { return }
            let step = CheckSteps.all.first { $0.name == progress.step }
            blame(step, progress.place, output)
            guard let step else { return }
            order.done.append(step.name)
            if step.name == "load" { canLoad = false }
            // Every step that needs an instance would end the same way.
            if step.name == "load" || step.name == "create" { return }
        }
    }

    /// Runs one process; returns nil if it could not be started.
    private mutating func process(
        _ command: [String], environment: [String: String], slowness: UInt64
    ) -> (Progress, ChildProcess.Output?) {
        var progress = Progress(done: order.done)
        var child = ChildProcess(command)
        child.input = Array(order.json.text.utf8)
        child.environment = environment
        var verdicts = verdicts
        var (title, notes) = (title, notes)
        let output: ChildProcess.Output?
        do throws(ChildProcess.Fault) {
            output = try child.run(timeoutMs: 20_000 * slowness) { line in
                guard let json = try? JSONValue.parse(line) else { return nil }
                if let step = json["step"]?.string {
                    (progress.step, progress.doing, progress.calling) = (step, "", "")
                    return UInt64(clamping: json["ms"]?.integer ?? 10_000) * slowness
                }
                if let doing = json["doing"]?.string {
                    (progress.doing, progress.calling) = (doing, "")
                }
                if let calling = json["calling"]?.string { progress.calling = calling }
                if let done = json["done"]?.string {
                    if !progress.done.contains(done) { progress.done.append(done) }
                    progress.step = nil
                }
                if let named = json["title"]?.string { title = named }
                if let note = json["note"]?.string, !notes.contains(note), notes.count < 16 {
                    notes.append(note)
                }
                if json["end"] != nil { progress.isComplete = true }
                if let rule = json["rule"]?.string.flatMap(CheckRule.init(rawValue:)),
                    let verdict = json["verdict"]?.string.flatMap(
                        CheckReport.Verdict.init(rawValue:))
                {
                    verdicts.add(rule, verdict, json["words"]?.string ?? "")
                }
                return nil
            }
        } catch {
            output = nil
            verdicts.add(.entryLoads, .fail, error.message)
        }
        self.verdicts = verdicts
        (self.title, self.notes) = (title, notes)
        return (progress, output)
    }

    private mutating func judge(_ output: ChildProcess.Output) {
        verdicts.add(.secretsOutput, .pass, "")
        if !output.text.isEmpty {
            verdicts.add(
                .secretsOutput, .fail,
                "it wrote \(output.text.utf8.count) bytes to standard output")
        }
        let confidential = Confidential(
            config: Dictionary(order.secrets.map { ($0.name, $0.value) }) { $1 })
        if let leak = confidential.leak(in: output.errors) {
            verdicts.add(.secretsOutput, .fail, "\(leak) was written to standard error")
        }
    }

    /// Blames a step for the end of the process.
    private mutating func blame(
        _ step: CheckStep?, _ place: String, _ output: ChildProcess.Output
    ) {
        let words: String
        if output.isLate {
            words = "it did not come back within \(step?.seconds ?? 20) s\(place)"
        } else if let signal = output.signal {
            let name = strsignal(signal).map { String(cString: $0) } ?? "unknown"
            words = "it crashes (signal \(signal): \(name))\(place)"
        } else if output.status == 97, let fault = faults.last(where: { !$0.isLeak }) {
            words = "\(fault.words)\(place)"
        } else {
            words = "it ends the process (exit \(output.status))\(place)"
        }
        let rules = step?.rules ?? [.entryLoads]
        verdicts.add(rules[0], .fail, words)
        for rule in rules.dropFirst() where !verdicts.has(rule) {
            verdicts.add(rule, .unchecked, "the process ended before it")
        }
    }

    // MARK: memory

    private mutating func leaveMemory(_ why: String) {
        verdicts.add(.memoryFaults, .unchecked, why)
        verdicts.add(.memoryLeaks, .unchecked, why)
    }

    private mutating func judgeMemory() {
        verdicts.add(.memoryFaults, .pass, "")
        verdicts.add(.memoryLeaks, .pass, "")
        for fault in faults {
            verdicts.add(fault.isLeak ? .memoryLeaks : .memoryFaults, .fail, fault.words)
        }
    }

    /// Repeats the steps under memcheck, with smaller amounts.
    private mutating func runValgrind() {
        guard let path = MemoryTools.find("valgrind") else {
            leaveMemory("valgrind is not installed")
            return
        }
        guard let room = ValgrindRoom(program: command[0], plugin: order.file) else {
            leaveMemory("there is no room for valgrind's files in /tmp")
            return
        }
        // Valgrind may fail to read the plugin's debug information; then it runs without it.
        for plugin in [order.file, room.plugin] {
            var light = CheckSupervisor(order: order, command: command)
            light.order.isLight = true
            light.order.done = []
            light.order.file = plugin
            let (progress, output) = light.process(
                MemoryTools.valgrind(path, log: room.log) + [room.program] + command.dropFirst(),
                environment: room.environment, slowness: 20)
            guard progress.done.contains("load") else { continue }
            guard case .success(let xml) = FileReader.read(room.log) else { continue }
            faults = ValgrindReport.faults(
                in: String(decoding: xml, as: UTF8.self), plugin: plugin)
            judgeMemory()
            if !progress.isComplete, !verdicts.anyFailed {
                let step = progress.step ?? "the beginning"
                let end = output?.isLate == true ? "is too slow" : "ends early"
                leaveMemory("the examination \(end) under valgrind, in the step \(step)")
            }
            return
        }
        leaveMemory("valgrind does not run here")
    }
}
