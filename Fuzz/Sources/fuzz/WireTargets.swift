import SignalboxCore

@testable import SignalboxPluginHost

extension FuzzTarget {
    /// The messages between the gateway and an isolated plugin: the first byte chooses the type.
    static let wire = FuzzTarget(name: "wire") { input in
        guard let first = input.first else { return }
        WireMessages.all[Int(first) % WireMessages.all.count](
            UnsafeRawBufferPointer(rebasing: input.dropFirst()))
    }
}

enum WireMessages {
    /// In this order in the corpus: new ones go to the end.
    static let all: [@Sendable (UnsafeRawBufferPointer) -> Void] = [
        { check(CreateMessage.self, $0) }, { check(LibraryFacts.self, $0) },
        { check(Limits.self, $0) }, { check(RoleFacts.self, $0) },
        { check(EndpointMessage.self, $0) }, { check(PrepareMessage.self, $0) },
        { check(ClassifyMessage.self, $0) }, { check(BuildMessage.self, $0) },
        { check(FilterMessage.self, $0) }, { check(IngestMessage.self, $0) },
        { check(SubmitMessage.self, $0) }, { check(OutcomesMessage.self, $0) },
        { check(ClassifiedMessage.self, $0) },
        { check(Arguments<SignAlgorithm, [UInt8], [UInt8]>.self, $0) },
        { check(Arguments<String, [UInt8]?, UInt64?>.self, $0) },
        { check(Arguments<String, String, Int>.self, $0) },
        { check(Arguments<String, KeyValueEdit>.self, $0) }, { check(KeyValueEdited.self, $0) },
        { check(Arguments<String, String>.self, $0) },
        { check(Arguments<String, UInt64>.self, $0) },
        { check(Arguments<[UInt8], [UInt8]?>.self, $0) },
        { check(SendEndpoint.ClientIdentity.self, $0) },
        { check(MetricMessage.self, $0) }, { check(CountMessage.self, $0) },
        { check(LogMessage.self, $0) }, { check(Arguments<PublicKeyForm, [UInt8]>.self, $0) },
        { check(BatchMessage.self, $0) }, { check(SettledMessage.self, $0) },
        { check(ObserveVerdict.self, $0) }, { check([Observation].self, $0) },
        { check(WireDeliveries.self, $0) }, { check([HTTPResponse].self, $0) },
        { check(RequestBatch.self, $0) }, { check(WireResult<SendEndpoint>.self, $0) },
        { check(WireResult<PrepareResult>.self, $0) }, { check(WireResult<BuildResult>.self, $0) },
        { check(WireResult<Filtered>.self, $0) }, { check(WireResult<IngestMessage>.self, $0) },
        { check(WireResult<[DeviceChange]>.self, $0) }, { check(WireResult<WireNothing>.self, $0) },
        { check(IngestRequest.self, $0) }, { check(PluginHTTPCall.self, $0) },
        { check(WireResult<PluginHTTPAnswer>.self, $0) },
        { check(WireResult<PluginCertificate>.self, $0) }, { check([Device].self, $0) },
        { check([UInt8]?.self, $0) }, { check([String].self, $0) }, { check(Event.self, $0) },
    ]

    /// What decodes is written in a form that decodes to what writes the same bytes.
    private static func check<Value: WireValue>(
        _ type: Value.Type, _ input: UnsafeRawBufferPointer
    ) {
        guard let value = try? Value(reading: frame(input)) else { return }
        let first = WireWriter()
        value.write(to: first)
        let words = UnsafeRawBufferPointer(rebasing: first.bytes.dropFirst(Wire.headBytes))
        do throws(WireFault) {
            let again = try Value(reading: frame(words))
            let second = WireWriter()
            again.write(to: second)
            require(
                first.bytes.elementsEqual(second.bytes), "\(type) is written in another way")
        } catch {
            require(false, "\(type) does not read what it wrote: \(error.what)")
        }
    }

    private static func frame(_ bytes: UnsafeRawBufferPointer) -> WireFrame {
        let frame = WireFrame(method: 0, kind: 0, call: 0, count: bytes.count)
        if let from = bytes.baseAddress {
            frame.start.copyMemory(from: from, byteCount: bytes.count)
        }
        return frame
    }
}

/// The arguments of a call to the gateway, which travel one after another.
private struct Arguments<each Value: WireValue>: WireValue {
    private let values: (repeat each Value)

    init(from reader: inout WireReader) throws(WireFault) {
        values = (repeat try (each Value)(from: &reader))
    }

    func write(to writer: WireWriter) { repeat (each values).write(to: writer) }
}
