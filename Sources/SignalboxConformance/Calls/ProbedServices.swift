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

    private static let tables = passing.merging(hosts) { $1 }

    /// The services of roles. They lead to what the probe keeps instead of the host.
    private static var hosts: [String: Pair] {
        var endpoint = sbx_endpoint_host()
        endpoint.changed = { host in
            HostProbe.note(host, SBX_SVC_ENDPOINT_HOST, "changed", .any) == nil
                ? SBX_E_STOPPING : SBX_OK
        }
        var observe = sbx_observe_host()
        observe.done = { host, sequence, status, _ in
            HostProbe.note(host, SBX_SVC_OBSERVE_HOST, "done", .any)?
                .answers.add(sequence, status)
        }
        var source = sbx_source_host()
        source.emit = { host, token, events, count, stride in
            guard let probe = HostProbe.note(host, SBX_SVC_SOURCE_HOST, "emit", .any) else {
                return SBX_E_STOPPING
            }
            return probe.batches.emit(token, events, count, stride, probe.bare)
        }
        source.condition = { host, _, _ in
            HostProbe.note(host, SBX_SVC_SOURCE_HOST, "condition", .any) == nil
                ? SBX_E_STOPPING : SBX_OK
        }
        var send = sbx_send_host()
        send.complete = { host, outcomes, count, stride in
            let probe = HostProbe.note(host, SBX_SVC_SEND_HOST, "complete", .any)
            if let probe { probe.flights.complete(outcomes, count, stride, probe.bare.structs) }
        }
        send.credit = { host, _ in
            HostProbe.note(host, SBX_SVC_SEND_HOST, "credit", .any)?.flights.credit()
        }
        return [
            SBX_SVC_ENDPOINT_HOST: Pair(endpoint), SBX_SVC_OBSERVE_HOST: Pair(observe),
            SBX_SVC_SOURCE_HOST: Pair(source), SBX_SVC_SEND_HOST: Pair(send),
        ]
    }
}
