internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// The result of a call into a plugin.
struct CallResult: Sendable {
    var status: Int32
    /// What the plugin wrote into the error; may be empty.
    var words: String

    var isOK: Bool { status == 0 }

    /// For example `INVALID: the path is missing`.
    var text: String {
        let name = Self.names[status] ?? "the unknown status \(status)"
        return words.isEmpty ? "\(name) without words" : "\(name): \(words)"
    }

    private static let names: [Int32: String] = [
        0: "OK", -1: "INTERNAL", -2: "VERSION", -3: "INVALID", -4: "UNSUPPORTED", -5: "AGAIN",
        -6: "TIMEOUT", -7: "AUTH", -8: "NOT_FOUND", -9: "TOO_LARGE", -10: "UNREACHABLE",
        -11: "LOST", -12: "STOPPING",
    ]
}

/// An examined instance.
///
/// It is called in every way that the contract allows, also in ways the gateway never uses.
///
/// `@unchecked Sendable`: `raw` is set by `create` and cleared by `destroy`, `isStarted` is set by `start`
/// and cleared by `stop`; no other call overlaps these.
final class Subject: @unchecked Sendable {
    let table: sbx_plugin
    let probe: HostProbe
    let confidential: Confidential
    private let config: CheckedConfig
    private(set) var raw: OpaquePointer?
    /// Whether start() returned OK, so that stop() may be called.
    private var isStarted = false
    /// Calls of a serial plugin take turns.
    private let turn: Gate<Void>?

    init(
        _ plugin: LoadedPlugin, name: String = "checked", config: CheckedConfig,
        services: OfflineServices, isNewer: Bool = false
    ) {
        table = plugin.library.table
        turn = plugin.library.isSerial ? Gate(()) : nil
        self.config = config
        confidential = Confidential(config: config.secrets.mapValues(\.bytes))
        probe = HostProbe(
            name: name, config: config, services: services, minor: table.abi_minor,
            isNewer: isNewer, lookup: ProbedServices.lookup)
    }

    /// Makes a call with a fresh error, and checks that it is written as the contract says.
    func call(
        _ tag: ThreadNote.Tag, _ name: String, isRefresh: Bool = false,
        _ body: (CArena, UnsafeMutablePointer<sbx_error>) -> sbx_status
    ) -> CallResult {
        let error = ErrorRoom()
        if tag == .control { Findings.shared.calling(name) }
        let status = ThreadNote.run(tag, name, isRefresh: isRefresh) {
            CallScope.run(isControl: tag == .control) { arena in
                guard tag == .worker else { return body(arena, error.pointer) }
                guard let turn else { return watched(name) { body(arena, error.pointer) } }
                return turn.update { _ in watched(name) { body(arena, error.pointer) } }
            }
        }
        if tag == .control { Findings.shared.calling("") }
        let result = CallResult(status: status, words: error.words)
        if let fault = error.fault { Findings.shared.fail(.secretsWords, "\(name): \(fault)") }
        watch(result.words, "the error of \(name)")
        return result
    }

    /// Reports a call of a worker that waits for long.
    private func watched(_ name: String, _ body: () -> sbx_status) -> sbx_status {
        let (status, ms) = BusyTime.waited(body)
        Findings.shared.waited(name, ms: ms)
        return status
    }

    /// Reports a text that reveals something confidential.
    func watch(_ text: String, _ place: @autoclosure () -> String) {
        guard let leak = confidential.leak(in: text) else { return }
        Findings.shared.fail(.secretsWords, "\(leak) is in \(place())")
    }

    /// Creates the instance with the valid config, or with this text.
    func create(json text: [UInt8]? = nil) -> CallResult {
        let json = text ?? Array(config.json.text.utf8)
        // No plugin would return this value as its pointer.
        let untouched = OpaquePointer(bitPattern: 0x5b0c)
        var made = untouched
        let result = call(.control, "create()") { arena, error in
            table.create(probe.raw, arena.bytes(json), &made, error)
        }
        if result.isOK {
            raw = made == untouched ? nil : made
            if raw == nil {
                Findings.shared.fail(.lifeCreate, "create() returned OK and gave no instance")
            }
        } else if made != untouched {
            Findings.shared.fail(
                .lifeRefusals,
                "create() failed and wrote its output: a failing call leaves it alone")
        }
        return result
    }

    func start() -> CallResult {
        let result = call(.control, "start()") { _, error in table.start(raw, error) }
        isStarted = result.isOK
        return result
    }

    /// Refreshes the credentials that are due.
    func refresh() -> [BareHost.Refresh] {
        guard let raw else { return [] }
        return ThreadNote.run(.control, "refresh()", isRefresh: true) { probe.bare.refresh(raw) }
    }

    /// Stops the instance as the gateway does.
    ///
    /// False: the plugin left something running, so it must not be destroyed.
    @discardableResult
    func stop(withinMs ms: UInt64 = 3_000) -> Bool {
        let deadline = SystemClock.monotonicNs + ms * 1_000_000
        guard probe.bare.quiesce(deadlineNs: deadline) else {
            Findings.shared.fail(
                .lifeStop, "a callback or a request of the instance is still open after \(ms) ms")
            return false
        }
        let result = call(.control, "stop()") { _, error in table.stop(raw, deadline, error) }
        let over = Int64(bitPattern: SystemClock.monotonicNs &- deadline) / 1_000_000
        if over > 200 {
            Findings.shared.fail(.lifeStop, "stop() returned \(over) ms after its deadline")
        }
        guard result.isOK else {
            Findings.shared.fail(.lifeStop, "stop() answers \(result.text)")
            return false
        }
        isStarted = false
        probe.end()
        return true
    }

    func destroy() {
        probe.end()
        _ = call(.control, "destroy()") { _, _ in
            table.destroy(raw)
            return SBX_OK
        }
        raw = nil
    }

    /// Ends the instance in the way that its state allows: with stop() only after a start() that returned OK.
    func end() {
        if isStarted {
            if stop() { destroy() }
        } else if probe.bare.quiesce(deadlineNs: SystemClock.monotonicNs + 3_000_000_000) {
            destroy()
        } else {
            Findings.shared.fail(
                .lifeStop,
                "a callback or a request is still open 3 s after a start() that failed")
        }
    }
}

/// An error struct followed by canaries.
private final class ErrorRoom {
    private static let canary: UInt64 = 0x5b0c_ca5e_feed_c0de
    let pointer: UnsafeMutablePointer<sbx_error>
    private let room: UnsafeMutableRawPointer

    init() {
        let size = MemoryLayout<sbx_error>.size
        room = .allocate(byteCount: size + 64, alignment: 16)
        room.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        for place in stride(from: size, to: size + 64, by: 8) {
            room.storeBytes(of: Self.canary, toByteOffset: place, as: UInt64.self)
        }
        pointer = room.bindMemory(to: sbx_error.self, capacity: 1)
        pointer.pointee.struct_size = UInt32(size)
    }

    deinit { room.deallocate() }

    private var bytes: [UInt8] {
        withUnsafeBytes(of: &pointer.pointee.message) { Array($0) }
    }

    var words: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// Describes how the error was written wrongly; nil if it was not.
    var fault: String? {
        let size = MemoryLayout<sbx_error>.size
        for place in stride(from: size, to: size + 64, by: 8)
        where room.load(fromByteOffset: place, as: UInt64.self) != Self.canary {
            return "wrote behind the end of the error"
        }
        if !bytes.contains(0) { return "the error's message has no end" }
        if String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) == nil {
            return "the error's message is not UTF-8"
        }
        return nil
    }
}
