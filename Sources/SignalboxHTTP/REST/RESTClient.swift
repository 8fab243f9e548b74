internal import CCurl
internal import SignalboxThreads
internal import Synchronization

/// Ordinary HTTP calls through libcurl, all on the client's own thread.
///
/// Concurrent calls are limited per owner, and per owner and host: calls that hang do not block other owners, nor
/// calls of the same owner to other hosts.
public final class RESTClient: Sendable {
    /// Called once, on the client's thread; must return quickly.
    public typealias Done = @Sendable (Result<RESTAnswer, RESTFault>) -> Void

    private struct Entry: Sendable {
        var call: RESTCall
        var done: Done
    }

    private struct State: Sendable {
        var inbox: [Entry] = []
        /// Calls that wait or run, by owner, and by owner and host.
        var places: [Place: Int] = [:]
        var isStopping = false
        /// The thread no longer uses libcurl's handle, and is closing it.
        var isClosing = false
    }

    /// `@unchecked Sendable`: other threads only call `curl_multi_wakeup`, which libcurl allows
    /// from any thread, and only while the handle is open; the client's thread does everything else.
    private final class Multi: @unchecked Sendable {
        let handle: UnsafeMutableRawPointer
        init?() {
            guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
                let handle = curl_multi_init()
            else { return nil }
            self.handle = handle
        }
        func close() { curl_multi_cleanup(handle) }
    }

    private struct Place: Sendable, Hashable {
        var owner: String
        /// Empty: all of the owner's.
        var host = ""
    }

    private let callsMax: Int
    private let hostCallsMax: Int
    private let proxies: ProxyRules
    /// Every call refuses private addresses, so that their connections can be used again.
    private let isPublicOnly: Bool
    private let multi: Multi
    private let shared: Shared

    private final class Shared: Sendable {
        let state = Mutex(State())
        /// Whether all descriptors are closed.
        let isClosed = Gate(false)

        /// A call has ended.
        func leave(_ places: [Place]) {
            state.withLock { state in
                for place in places {
                    let left = (state.places[place] ?? 1) - 1
                    state.places[place] = left > 0 ? left : nil
                }
            }
        }
    }

    /// Starts the client's thread; at most `callsMax` calls of an owner wait or run at a time, and `hostCallsMax` of these
    /// to one host.
    ///
    /// `isPublicOnly`: every call refuses private addresses, and its connection serves the next one. `proxies`: for calls that
    /// name none.
    public init(
        callsMax: Int = 256, hostCallsMax: Int? = nil, isPublicOnly: Bool = false,
        proxies: ProxyRules = .direct
    ) throws(RESTFault) {
        guard let multi = Multi() else {
            throw RESTFault(kind: .stopping, message: "libcurl cannot be set up")
        }
        self.multi = multi
        self.callsMax = callsMax
        self.hostCallsMax = hostCallsMax ?? callsMax
        self.isPublicOnly = isPublicOnly
        self.proxies = proxies
        _ = csbx_curl_multi_idle_max(multi.handle, 128)
        let shared = Shared()
        self.shared = shared
        SystemThread.start("sbx-rest") { Self.run(multi, shared, isPublicOnly) }
    }

    deinit { shutdown() }

    /// Starts a call; `done` is called exactly once, unless this throws.
    ///
    /// Thread: any.
    public func submit(_ call: RESTCall, done: @escaping Done) throws(RESTFault) {
        var call = call
        let (all, host) = try place(&call)
        let shared = shared
        let entry = Entry(call: call) {
            shared.leave([all, host])
            done($0)
        }
        let refusal = shared.state.withLock { state -> RESTFault? in
            if state.isStopping {
                return RESTFault(kind: .stopping, message: "the REST client is shutting down")
            }
            let (count, hostCount) = (state.places[all] ?? 0, state.places[host] ?? 0)
            guard count < callsMax, hostCount < hostCallsMax else {
                return RESTFault(
                    kind: .full,
                    message: count < callsMax
                        ? "\(hostCount) REST calls to this host are under way"
                        : "\(count) REST calls are under way")
            }
            state.places[all] = count + 1
            state.places[host] = hostCount + 1
            state.inbox.append(entry)
            curl_multi_wakeup(multi.handle)
            return nil
        }
        if let refusal { throw refusal }
    }

    /// The proxy of calls to a URL; nil to connect directly.
    public static func proxy(_ url: String, _ rules: ProxyRules) -> ProxyAddress? {
        RESTOrigin(url).flatMap {
            rules.proxy(host: $0.host, port: $0.port, isSecure: $0.isSecure)
        }
    }

    /// The limits that a call counts against: its owner's, and its owner's for this host. Also chooses its proxy.
    private func place(_ call: inout RESTCall) throws(RESTFault) -> (Place, Place) {
        guard let origin = RESTOrigin(call.url) else {
            throw RESTFault(kind: .invalid, message: "the URL is malformed")
        }
        if call.socket == nil {
            call.proxy = (call.proxies ?? proxies).proxy(
                host: origin.host, port: origin.port, isSecure: origin.isSecure)
        }
        // The proxy resolves the name, so only an address in the URL itself can be checked.
        if call.proxy != nil, call.refusesPrivateAddresses || isPublicOnly, origin.isPrivate {
            throw RESTFault.privateAddress
        }
        return (
            Place(owner: call.owner),
            Place(owner: call.owner, host: call.socket ?? "\(origin.host):\(origin.port)")
        )
    }

    /// Makes a call and suspends until it ends.
    public func answer(_ call: RESTCall) async throws -> RESTAnswer {
        try await withCheckedThrowingContinuation { continuation in
            do throws(RESTFault) {
                try submit(call) { continuation.resume(with: $0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Shuts the client down: pending calls get `.stopping`.
    public func shutdown() {
        shared.state.withLock { state in
            state.isStopping = true
            if !state.isClosing { curl_multi_wakeup(multi.handle) }
        }
    }

    /// Shuts the client down and waits until its connections are closed, at most five seconds.
    public func close() async {
        shutdown()
        let isClosed = shared.isClosed
        let deadline = SystemClock.monotonicNs + 5_000_000_000
        _ = await SystemThread.value {
            isClosed.wait(until: { isClosed -> (result: Bool?, wakeNs: UInt64?) in
                isClosed || SystemClock.monotonicNs >= deadline ? (isClosed, nil) : (nil, deadline)
            })
        }
    }

    private static func run(_ multi: Multi, _ shared: Shared, _ isPublicOnly: Bool) {
        var running: Set<UnsafeMutableRawPointer> = []
        while true {
            let (entries, isStopping) = shared.state.withLock { state in
                defer { state.inbox = [] }
                return (state.inbox, state.isStopping)
            }
            for entry in entries { start(entry, multi, shared, isPublicOnly, &running) }
            if isStopping {
                for handle in running {
                    curl_multi_remove_handle(multi.handle, handle)
                    let fault = RESTFault(kind: .stopping, message: "the gateway is stopping")
                    RESTTransfer.release(handle)?.done(.failure(fault))
                }
                shared.state.withLock { $0.isClosing = true }
                multi.close()
                shared.isClosed.updateAll { $0 = true }
                return
            }
            var count: Int32 = 0
            curl_multi_perform(multi.handle, &count)
            collect(multi, shared, &running)
            curl_multi_poll(multi.handle, nil, 0, 60_000, nil)
        }
    }

    private static func start(
        _ entry: Entry, _ multi: Multi, _ shared: Shared, _ isPublicOnly: Bool,
        _ running: inout Set<UnsafeMutableRawPointer>
    ) {
        guard
            let transfer = RESTTransfer(
                entry.call, isOfPublicPool: isPublicOnly, done: entry.done)
        else {
            entry.done(.failure(RESTFault(kind: .invalid, message: "the call is malformed")))
            return
        }
        let handle = transfer.retain()
        running.insert(handle)
        curl_multi_add_handle(multi.handle, handle)
    }

    private static func collect(
        _ multi: Multi, _ shared: Shared, _ running: inout Set<UnsafeMutableRawPointer>
    ) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi.handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle
            else { continue }
            // Read first: libcurl may reuse the message once its handle is removed.
            let code = csbx_curl_result(message)
            curl_multi_remove_handle(multi.handle, handle)
            running.remove(handle)
            if let transfer = RESTTransfer.release(handle) { transfer.done(transfer.result(code)) }
        }
    }
}
