public import SignalboxCore

/// Something that took time, for a distributed trace.
public struct Span: Sendable {
    /// Whether it answers a request or makes one; OpenTelemetry's numbers.
    public enum Kind: Int64, Sendable {
        case server = 2
        case client = 3
    }

    /// What was done: few different values.
    public var name: String
    /// Which side.
    public var kind: Kind
    /// Its trace, and its own id.
    public var place: TraceContext
    /// The span that caused it; 0 for none.
    public var parent: UInt64
    /// Begin, in Unix milliseconds.
    public var startUnixMs: UInt64
    /// How long it took, in nanoseconds.
    public var durationNs: UInt64
    /// Texts and integers by OpenTelemetry's names; no token, secret or body.
    public var attributes: [JSONValue.Member]
    /// Why it failed, or nil if it did not.
    public var fault: String?

    /// Makes one.
    public init(
        _ name: String, _ kind: Kind, at place: TraceContext, parent: UInt64, startUnixMs: UInt64,
        durationNs: UInt64, attributes: [JSONValue.Member], fault: String? = nil
    ) {
        self.name = name
        self.kind = kind
        self.place = place
        self.parent = parent
        self.startUnixMs = startUnixMs
        self.durationNs = durationNs
        self.attributes = attributes
        self.fault = fault
    }

    /// The body of an OTLP/HTTP request in JSON. `resource`: who did it.
    public static func export(
        _ spans: [Span], resource: [JSONValue.Member], version: String
    ) -> JSONValue {
        [
            "resourceSpans": [
                [
                    "resource": ["attributes": pairs(resource)],
                    "scopeSpans": [
                        [
                            "scope": ["name": "signalbox", "version": .string(version)],
                            "spans": .array(spans.map(\.json)),
                        ]
                    ],
                ]
            ]
        ]
    }

    private var json: JSONValue {
        // 64-bit integers are texts in the JSON of protocol buffers.
        let start = startUnixMs * 1_000_000
        var members: [JSONValue.Member] = [
            .init("traceId", .string(place.traceID)),
            .init("spanId", .string(TraceContext.hex(place.span))),
        ]
        if parent != 0 { members.append(.init("parentSpanId", .string(TraceContext.hex(parent)))) }
        members += [
            .init("name", .string(name)), .init("kind", .integer(kind.rawValue)),
            .init("startTimeUnixNano", .string("\(start)")),
            .init("endTimeUnixNano", .string("\(start + durationNs)")),
            .init("attributes", Self.pairs(attributes)),
        ]
        if let fault {
            members.append(
                .init(
                    "status",
                    ["code": 2, "message": .string(fault)]))
        }
        return .object(members)
    }

    private static func pairs(_ members: [JSONValue.Member]) -> JSONValue {
        .array(
            members.map { member in
                let value: JSONValue.Member =
                    switch member.value {
                    case .integer(let number): .init("intValue", .string("\(number)"))
                    case .string(let text): .init("stringValue", .string(text))
                    case let other: .init("stringValue", .string(other.text))
                    }
                return ["key": .string(member.key), "value": .object([value])]
            })
    }
}
