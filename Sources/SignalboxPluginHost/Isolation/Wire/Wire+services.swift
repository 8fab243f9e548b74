internal import SignalboxCore

/// The result of a call that may fail.
struct WireResult<Value: WireValue>: WireValue {
    let result: Result<Value, PluginFault>

    init(_ result: Result<Value, PluginFault>) { self.result = result }

    func write(to writer: WireWriter) {
        switch result {
        case .success(let value):
            writer.put(true)
            writer.put(value)
        case .failure(let fault):
            writer.put(false)
            writer.put(fault)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        result =
            try reader.flag() ? .success(try reader.value()) : .failure(try reader.value())
    }
}

/// Success without a value.
struct WireNothing: WireValue {
    func write(to writer: WireWriter) {}
    init() {}
    init(from reader: inout WireReader) throws(WireFault) {}
}

extension Bool: WireValue {
    func write(to writer: WireWriter) { writer.put(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.flag() }
}

extension UInt64: WireValue {
    func write(to writer: WireWriter) { writer.put(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.number() }
}

extension Int32: WireValue {
    func write(to writer: WireWriter) { writer.put(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.number() }
}

extension String: WireValue {
    func write(to writer: WireWriter) { writer.put(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.text() }
}

/// Bytes as a `WireValue`.
struct WireBytes: WireValue {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func write(to writer: WireWriter) { writer.put(bytes) }
    init(from reader: inout WireReader) throws(WireFault) { bytes = try reader.bytes() }
}

extension Optional: WireValue where Wrapped: WireValue {
    func write(to writer: WireWriter) { writer.put(self) { writer.put($0) } }

    init(from reader: inout WireReader) throws(WireFault) {
        self = try reader.optional { reader throws(WireFault) in try reader.value() }
    }
}

extension Array: WireValue where Element: WireValue {
    func write(to writer: WireWriter) { writer.put(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.list() }
}

extension PluginHTTPCall: WireValue {
    func write(to writer: WireWriter) {
        writer.put(method)
        writer.put(url)
        writer.put(headers)
        writer.put(body)
        writer.put(caFile)
        writer.put(timeoutMs)
        writer.put(redirectsMax)
        writer.put(refusesPrivateAddresses)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            method: try reader.text(), url: try reader.text(), headers: try reader.list(),
            body: try reader.bytes(), caFile: try reader.text(), timeoutMs: try reader.number(),
            redirectsMax: try reader.number(), refusesPrivateAddresses: try reader.flag())
    }
}

extension PluginHTTPAnswer: WireValue {
    func write(to writer: WireWriter) {
        writer.put(status)
        writer.put(headers)
        writer.put(body)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            status: try reader.number(), headers: try reader.list(), body: try reader.bytes())
    }
}

extension PluginCertificate: WireValue {
    func write(to writer: WireWriter) {
        writer.put(subject)
        writer.put(userID)
        writer.put(notBeforeUnixS)
        writer.put(notAfterUnixS)
        writer.put(UInt32(extensions.count))
        for one in extensions {
            writer.put(one.oid)
            writer.put(one.der)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            subject: try reader.text(), userID: try reader.text(),
            notBeforeUnixS: try reader.number(), notAfterUnixS: try reader.number(),
            extensions: [])
        for _ in 0..<(try reader.count(least: 8)) {
            extensions.append((try reader.text(), try reader.bytes()))
        }
    }
}
