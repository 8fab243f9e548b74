package import CSignalbox
package import SignalboxCore

/// The host of one instance for a caller of the plugin's own tables: a conformance suite makes
/// calls that the gateway never makes, and needs the services of the gateway behind them.
package final class BareHost: Sendable {
    let context: InstanceContext

    /// A refresh of a credential that was due.
    package struct Refresh: Sendable {
        /// The credential.
        package var name: String
        /// Nil: there is a new value; else what the plugin returned, in words.
        package var fault: PluginFault?
    }

    /// Makes a host for a plugin that was compiled for contract 1.`minor`; it must live until the
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

    /// The struct that a plugin gets.
    package var raw: UnsafeMutablePointer<sbx_host> { context.host }

    /// Services that this host offers.
    package static var offered: [String] { Services.offered }

    /// The table of a service; it lives as long as the process.
    package static func service(_ id: String) -> UnsafeRawPointer? { Services.table(id) }

    /// Refreshes the credentials that are due.
    package func refresh(_ instance: OpaquePointer) -> [Refresh] {
        let now = context.services.nowUnixMs
        return context.credentials.due(nowMs: now).names.map { name, refresh in
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

    /// What comes before stop(): waits for answers and timers that are under way, and lets none begin.
    /// False: some still run at the deadline.
    package func quiesce(deadlineNs: UInt64) -> Bool {
        guard context.calls.close(deadlineNs: deadlineNs),
            context.timers.stop(deadlineNs: deadlineNs)
        else { return false }
        context.secrets.endWatches()
        return true
    }

    /// What a plugin filled in, with its secrets looked up.
    package func endpoint(_ raw: sbx_endpoint) -> Result<SendEndpoint, PluginFault> {
        EndpointQuestion.read(raw, context)
    }

    /// Where a request of an ingest role writes; `done` is called once.
    package func ingestSink(
        limits: Limits, receivedUnixMs: UInt64, done: @escaping @Sendable (IngestResult) -> Void
    ) -> IngestSink {
        IngestSink(context: context, limits: limits, receivedUnixMs: receivedUnixMs, done: done)
    }
}
