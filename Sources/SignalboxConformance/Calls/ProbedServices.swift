internal import CSignalbox
internal import SignalboxPluginHost

/// The host's services with an eye on their callers: each function notes the call and passes it on.
enum ProbedServices {
    /// The table of a service, or nil: it is not offered.
    static func table(_ id: String, isNewer: Bool) -> UnsafeRawPointer? {
        tables[id].map { isNewer ? $0.newer : $0.plain }
    }

    /// A table at two addresses that never change: at its size, and with a tail that today's contract
    /// does not know.
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
        SBX_SVC_LOG: Pair(SmallServices.log), SBX_SVC_METRICS: Pair(SmallServices.metrics),
        SBX_SVC_SECRETS: Pair(SmallServices.secrets), SBX_SVC_TIMER: Pair(SmallServices.timer),
        SBX_SVC_SIGN: Pair(SmallServices.sign), SBX_SVC_CLOCK: Pair(SmallServices.clock),
        SBX_SVC_CERTIFICATE: Pair(SmallServices.certificates),
        SBX_SVC_CREDENTIAL: Pair(WaitingServices.credential),
        SBX_SVC_HTTP: Pair(WaitingServices.http), SBX_SVC_KV: Pair(WaitingServices.kv),
        SBX_SVC_REGISTRY: Pair(WaitingServices.registry), SBX_SVC_JSON: Pair(JSONProbe.table),
        SBX_SVC_SEND_HOST: Pair(SendHostProbe.table), SBX_SVC_FIT: Pair(SmallServices.fit),
    ]

    /// The host's own table.
    static func real<Table: BitwiseCopyable>(_ id: String, _ type: Table.Type) -> Table {
        guard let raw = BareHost.service(id) else {
            preconditionFailure("the host offers every service of the contract")
        }
        return raw.assumingMemoryBound(to: Table.self).pointee
    }
}

/// Services that answer at once.
enum SmallServices {
    private static let realLog = ProbedServices.real(SBX_SVC_LOG, sbx_log.self)
    static var log: sbx_log {
        var table = realLog
        table.enabled = { host, level in
            HostProbe.note(host, SBX_SVC_LOG, "enabled", .any)
            return SmallServices.realLog.enabled(host, level)
        }
        table.write = { host, level, message, fields, count in
            guard HostProbe.note(host, SBX_SVC_LOG, "write", .any) != nil else { return }
            SmallServices.realLog.write(host, level, message, fields, count)
        }
        return table
    }

    private static let realMetrics = ProbedServices.real(SBX_SVC_METRICS, sbx_metrics.self)
    static var metrics: sbx_metrics {
        var table = realMetrics
        table.counter = { host, name, labels, count in
            guard HostProbe.note(host, SBX_SVC_METRICS, "counter", .any) != nil else { return 0 }
            return SmallServices.realMetrics.counter(host, name, labels, count)
        }
        table.gauge = { host, name, labels, count in
            guard HostProbe.note(host, SBX_SVC_METRICS, "gauge", .any) != nil else { return 0 }
            return SmallServices.realMetrics.gauge(host, name, labels, count)
        }
        table.add = { host, handle, delta in
            guard HostProbe.note(host, SBX_SVC_METRICS, "add", .any) != nil else { return }
            SmallServices.realMetrics.add(host, handle, delta)
        }
        table.set = { host, handle, value in
            guard HostProbe.note(host, SBX_SVC_METRICS, "set", .any) != nil else { return }
            SmallServices.realMetrics.set(host, handle, value)
        }
        return table
    }

    private static let realSecrets = ProbedServices.real(SBX_SVC_SECRETS, sbx_secrets.self)
    static var secrets: sbx_secrets {
        var table = realSecrets
        table.get = { host, name, buffer, length in
            guard HostProbe.note(host, SBX_SVC_SECRETS, "get", .any) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realSecrets.get(host, name, buffer, length)
        }
        table.watch = { host, name, body, context in
            guard HostProbe.note(host, SBX_SVC_SECRETS, "watch", .control) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realSecrets.watch(host, name, body, context)
        }
        return table
    }

    private static let realTimer = ProbedServices.real(SBX_SVC_TIMER, sbx_timer.self)
    static var timer: sbx_timer {
        var table = realTimer
        table.after = { host, ms, body, context in
            guard HostProbe.note(host, SBX_SVC_TIMER, "after", .any) != nil else { return 0 }
            return SmallServices.realTimer.after(host, ms, body, context)
        }
        table.cancel = { host, timer in
            guard HostProbe.note(host, SBX_SVC_TIMER, "cancel", .any) != nil else { return }
            SmallServices.realTimer.cancel(host, timer)
        }
        return table
    }

    private static let realSign = ProbedServices.real(SBX_SVC_SIGN, sbx_sign.self)
    static var sign: sbx_sign {
        var table = realSign
        table.sign = { host, algorithm, key, pointer, data, signature, length, error in
            guard HostProbe.note(host, SBX_SVC_SIGN, "sign", .any) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realSign.sign(
                host, algorithm, key, pointer, data, signature, length, error)
        }
        table.verify = { host, algorithm, key, pointer, data, signature, error in
            guard HostProbe.note(host, SBX_SVC_SIGN, "verify", .any) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realSign.verify(
                host, algorithm, key, pointer, data, signature, error)
        }
        return table
    }

    private static let realClock = ProbedServices.real(SBX_SVC_CLOCK, sbx_clock.self)
    static var clock: sbx_clock {
        var table = realClock
        table.unix_ms = { host in
            guard HostProbe.note(host, SBX_SVC_CLOCK, "unix_ms", .any) != nil else { return 0 }
            return SmallServices.realClock.unix_ms(host)
        }
        table.utc_offset = { host, zone, ms, seconds in
            guard HostProbe.note(host, SBX_SVC_CLOCK, "utc_offset", .any) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realClock.utc_offset(host, zone, ms, seconds)
        }
        return table
    }

    private static let realFit = ProbedServices.real(SBX_SVC_FIT, sbx_fit.self)
    static var fit: sbx_fit {
        var table = realFit
        table.fit = { host, request, out, error in
            guard HostProbe.note(host, SBX_SVC_FIT, "fit", .call) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realFit.fit(host, request, out, error)
        }
        return table
    }

    private static let realCertificates = ProbedServices.real(
        SBX_SVC_CERTIFICATE, sbx_certificates.self)
    static var certificates: sbx_certificates {
        var table = realCertificates
        table.read = { host, secret, password, out, error in
            guard HostProbe.note(host, SBX_SVC_CERTIFICATE, "read", .call) != nil else {
                return SBX_E_INVALID
            }
            return SmallServices.realCertificates.read(host, secret, password, out, error)
        }
        return table
    }
}
