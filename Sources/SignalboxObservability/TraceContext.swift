/// A place in a distributed trace: W3C Trace Context, as the header `traceparent` has it.
public struct TraceContext: Sendable, Hashable {
    /// The first half of the trace's id.
    public let traceHigh: UInt64
    /// The second half.
    public let traceLow: UInt64
    /// The span; never 0.
    public let span: UInt64
    /// Whether somebody records the trace.
    public let isSampled: Bool

    /// Makes a place.
    public init(traceHigh: UInt64, traceLow: UInt64, span: UInt64, isSampled: Bool) {
        self.traceHigh = traceHigh
        self.traceLow = traceLow
        self.span = span
        self.isSampled = isSampled
    }

    /// Reads a header: `00-` trace `-` span `-` flags, in lower-case hexadecimal digits; nil: it is not valid, and must
    /// be ignored.
    ///
    /// A later version may have more fields behind these.
    public init?(traceparent text: String) {
        let bytes = Array(text.utf8)
        let dash = UInt8(ascii: "-")
        guard bytes.count == 55 || bytes.count > 55 && bytes[55] == dash,
            bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            version > 0 || bytes.count == 55,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let span = Self.number(bytes[36..<52]), let flags = Self.number(bytes[53..<55]),
            high | low != 0, span != 0
        else { return nil }
        self.init(traceHigh: high, traceLow: low, span: span, isSampled: flags & 1 == 1)
    }

    /// The header for what this span asks others to do.
    public var traceparent: String { "00-\(traceID)-\(Self.hex(span))-\(isSampled ? "01" : "00")" }

    /// 32 hexadecimal digits.
    public var traceID: String { Self.hex(traceHigh) + Self.hex(traceLow) }

    /// The same trace at a new span of its own.
    public func next() -> TraceContext {
        TraceContext(
            traceHigh: traceHigh, traceLow: traceLow, span: .random(in: 1 ... .max),
            isSampled: isSampled)
    }

    /// A new trace, which is recorded.
    public static func root() -> TraceContext {
        TraceContext(
            traceHigh: .random(in: 1 ... .max), traceLow: .random(in: 1 ... .max),
            span: .random(in: 1 ... .max), isSampled: true)
    }

    /// 16 digits.
    static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var out: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                out = out << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                out = out << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return out
    }
}
