internal import CSignalbox
internal import SignalboxPluginHost

/// The host services that an examined plugin gets.
enum ProbedServices {
    /// The table of a service for the asking host; nil if it is not offered.
    static let lookup: HostProbe.Lookup = { host, id in
        guard let probe = HostProbe.from(host), let id = String(plugin: id) else { return nil }
        return tables[id].map { probe.isNewer ? $0.newer : $0.plain }
    }

    /// A table at two addresses that never change.
    ///
    /// One has the table's own size, the other a tail that today's contract does not know.
    ///
    /// `@unchecked Sendable`: it is never written after `init`.
    final class Pair: @unchecked Sendable {
        let plain: UnsafeRawPointer
        let newer: UnsafeRawPointer

        init<Table: BitwiseCopyable>(_ table: Table) {
            (plain, newer) = (Self.place(table, tail: 0), Self.place(table, tail: tailBytes))
        }

        private static func place<Table: BitwiseCopyable>(
            _ table: Table, tail: Int
        ) -> UnsafeRawPointer {
            let size = MemoryLayout<Table>.size + tail
            let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            room.initializeMemory(as: UInt8.self, repeating: HostProbe.tailByte, count: size)
            room.storeBytes(of: table, as: Table.self)
            // Every table begins with its size.
            room.storeBytes(of: UInt32(size), as: UInt32.self)
            return UnsafeRawPointer(room)
        }
    }

    private static let tailBytes = HostProbe.tailBytes

    private static let tables: [String: Pair] = [
        SBX_SVC_LOG: Pair(ProbedTables.log),
        SBX_SVC_METRICS: Pair(ProbedTables.metrics),
        SBX_SVC_SECRETS: Pair(ProbedTables.secrets),
        SBX_SVC_TIMER: Pair(ProbedTables.timer),
        SBX_SVC_SIGN: Pair(ProbedTables.sign),
        SBX_SVC_CLOCK: Pair(ProbedTables.clock),
        SBX_SVC_CERTIFICATE: Pair(ProbedTables.certificates),
        SBX_SVC_CREDENTIAL: Pair(ProbedTables.credential),
        SBX_SVC_HTTP: Pair(ProbedTables.http),
        SBX_SVC_KV: Pair(ProbedTables.kv),
        SBX_SVC_REGISTRY: Pair(ProbedTables.registry),
        SBX_SVC_JSON: Pair(ProbedTables.json),
        SBX_SVC_SEND_HOST: Pair(ProbedTables.sendHost),
        SBX_SVC_SOURCE_HOST: Pair(ProbedTables.sourceHost),
        SBX_SVC_OBSERVE_HOST: Pair(ProbedTables.observeHost),
        SBX_SVC_FIT: Pair(ProbedTables.fit),
        SBX_SVC_SCOPE: Pair(ProbedTables.scope),
        SBX_SVC_CRYPTO: Pair(ProbedTables.crypto),
        SBX_SVC_ENDPOINT_HOST: Pair(ProbedTables.endpointHost),
    ]
}
