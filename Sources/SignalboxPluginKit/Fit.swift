internal import CSignalbox

/// A provider's payload limit, and the texts that may be shortened to stay within it.
public struct PayloadLimit: Sendable {
    /// The role of a text; the body is cut first, the title last.
    public enum Field: String, Sendable {
        case body, subtitle, title
    }

    /// The limit in bytes for the parts that count.
    public var bytesMax: Int
    /// Whether only names and texts count, as raw UTF-8; otherwise the bytes of the JSON count.
    public var countsTexts = false
    /// RFC 6901 pointers to the parts that count; empty for the whole payload.
    public var counted: [String] = []
    /// Places of texts that may be shortened; missing places are ignored.
    public var places: [(field: Field, pointer: String)] = []
    /// Where the notification's data is in the payload; empty for the top level.
    public var data = ""

    /// A limit without places.
    public init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Adds the texts of an `alert` of `aps`, which is an object or a single text.
    public mutating func addAlert(_ pointer: String, of payload: [UInt8], _ host: Host) {
        if (try? host.parse(payload.span))?.at(pointer)?.kind == .string {
            places.append((.body, pointer))
            return
        }
        for (field, prefix) in [(Field.body, ""), (.subtitle, "subtitle-"), (.title, "title-")] {
            places.append((field, "\(pointer)/\(field.rawValue)"))
            places.append((field, "\(pointer)/\(prefix)loc-args"))
        }
    }
}

extension Host {
    /// The payload of a notification, fitted to a limit by shortening texts if necessary.
    ///
    /// Throws `tooLarge` if it would not fit even without these texts.
    public func fitted(
        _ payload: [UInt8], of note: PushNotification, to limit: PayloadLimit
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        var request = sbx_fit_request()
        request.struct_size = UInt32(MemoryLayout<sbx_fit_request>.size)
        request.flags = limit.countsTexts ? SBX_FIT_TEXTS : 0
        request.bytes_max = UInt64(limit.bytesMax)
        request.payload = arena.bytes(payload)
        request.places = arena.pairs(limit.places.map { ($0.field.rawValue, $0.pointer) })
        request.place_count = limit.places.count
        let counted = arena.array(sbx_str.self, limit.counted.count)
        for (index, pointer) in limit.counted.enumerated() { counted[index] = arena.text(pointer) }
        request.counted = UnsafePointer(counted)
        request.counted_count = limit.counted.count
        request.data = arena.text(limit.data)
        request.shorten = arena.text(note.part("shorten") ?? "")
        return Array(try fitted(&request).raw)
    }

    /// A text that is no JSON, cut to so many bytes, or UTF-16 code units, at the end of a visible character.
    public func fitted(_ text: String, to max: Int, isUTF16: Bool = false) throws(PluginError)
        -> String
    {
        let arena = Arena()
        var request = sbx_fit_request()
        request.struct_size = UInt32(MemoryLayout<sbx_fit_request>.size)
        request.flags = SBX_FIT_PLAIN | (isUTF16 ? SBX_FIT_UTF16 : 0)
        request.bytes_max = UInt64(clamping: max)
        request.payload = arena.text(text)
        return String(decoding: try fitted(&request).raw, as: UTF8.self)
    }

    private func fitted(_ request: inout sbx_fit_request) throws(PluginError) -> sbx_str {
        var out = sbx_str()
        try explained { error in services.fit.fit?(raw, &request, &out, error) }
        return out
    }
}
