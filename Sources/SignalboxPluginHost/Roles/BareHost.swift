package import CSignalbox
package import SignalboxCore

/// The host of one instance, for code that calls the plugin's tables itself: a conformance suite
/// makes calls that the gateway never makes, and needs the gateway's services for them.
package final class BareHost: Sendable {
    let context: InstanceContext

    /// The result of a credential refresh that was due.
    package struct Refresh: Sendable {
        /// The credential's name.
        package var name: String
        /// The fault the plugin returned; nil if there is a new value.
        package var fault: PluginFault?
    }

    /// Makes a host for a plugin compiled for contract 1.`minor`; the host must live until the
    /// instance is destroyed.
    package init(
        name: String, version: String, minor: UInt32, secrets: [String: PluginSecret],
        services: any HostServices,
        onStructFault: @escaping @Sendable (StructFault, _ call: String) -> Void
    ) {
        context = InstanceContext(
            name: name, program: "signalbox", version: version, minor: minor, secrets: secrets,
            services: services, lookup: Services.lookup, onStructFault: onStructFault)
    }

    /// Reads what the plugin hands over.
    package var structs: StructReader { context.structs }

    /// The struct given to the plugin.
    package var raw: UnsafeMutablePointer<sbx_host> { context.host }

    /// The table of a service; it lives as long as the process.
    package static func service(_ id: String) -> UnsafeRawPointer? { Services.table(id) }

    /// Refreshes the credentials that are due.
    package func refresh(_ instance: OpaquePointer) -> [Refresh] {
        let now = context.services.nowUnixMs
        return context.credentials.due(nowMs: now).map { name, refresh in
            var error = sbx_error.fresh
            let status = CallScope.run(isControl: true) { arena in
                refresh(instance, arena.text(name), &error)
            }
            if context.credentials.finish(name, status: status, nowMs: now) {
                return Refresh(name: name, fault: nil)
            }
            let fault =
                status == SBX_OK
                ? PluginFault(.internal, "refresh returned OK without set()")
                : PluginFault(status: status, error: error)
            return Refresh(name: name, fault: fault)
        }
    }

    /// Call this before stop(): it lets no answer or timer begin, and waits for those under way.
    /// False if some still run at the deadline.
    package func quiesce(deadlineNs: UInt64) -> Bool {
        guard context.calls.close(deadlineNs: deadlineNs),
            context.timers.stop(deadlineNs: deadlineNs)
        else { return false }
        context.secrets.endWatches()
        return true
    }

    /// The endpoint a plugin filled in, with its secrets looked up.
    package func endpoint(_ raw: sbx_endpoint) -> Result<SendEndpoint, PluginFault> {
        EndpointQuestion.read(raw, context)
    }

    /// Events that a plugin emits, or why they are refused.
    package func events(
        _ first: UnsafePointer<sbx_event>, _ count: Int, stride: Int, limits: Limits
    ) throws(StructFault) -> Result<[Event], PluginFault> {
        try context.structs.events(
            first, count, stride: stride, source: context.name, limits: limits,
            receivedUnixMs: context.services.nowUnixMs)
    }

    /// The sink for one request of an ingest role; `done` is called once.
    package func ingestSink(
        limits: Limits, receivedUnixMs: UInt64, done: @escaping @Sendable (IngestResult) -> Void
    ) -> IngestSink {
        IngestSink(context: context, limits: limits, receivedUnixMs: receivedUnixMs, done: done)
    }
}
