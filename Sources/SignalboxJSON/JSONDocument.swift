internal import CSimdjson
public import SignalboxCore

/// A parsed document with its own memory. Any thread may read it as long as somebody holds it.
///
/// `@unchecked Sendable`: the memory is written only in `init`.
public final class JSONDocument: ParsedJSON, @unchecked Sendable {
    /// The document's value. It lives as long as the document, as does everything read from it.
    public let root: JSONParser.Value
    /// Text that every reader of JSON takes, where the given text was mended
    /// (`JSONParser.isMended`).
    public let mended: String?

    /// Parses text; `parser` may be reused afterwards.
    public init(
        _ text: UnsafeBufferPointer<UInt8>, with parser: JSONParser
    ) throws(JSONFault) {
        let root = try parser.parse(text)
        guard let kept = csj_keep(root.plain) else {
            throw JSONFault(message: "there is no memory for it")
        }
        self.root = JSONParser.Value(document: kept, position: root.position)
        mended =
            parser.isMended
            ? JSONParser.text(of: root).map { String(decoding: $0, as: UTF8.self) } : nil
    }

    /// Parses text.
    public static func parse(_ text: String) throws(JSONFault) -> JSONDocument {
        guard let parser = JSONParser() else {
            throw JSONFault(message: "there is no memory for it")
        }
        var text = text
        let made = text.withUTF8 { bytes -> Result<JSONDocument, JSONFault> in
            do throws(JSONFault) {
                return .success(try JSONDocument(bytes, with: parser))
            } catch {
                return .failure(error)
            }
        }
        return try made.get()
    }

    deinit { csj_release(root.document) }

    /// A copy of the value at these names; nil if there is none.
    public func value(at names: [String]) -> JSONValue? {
        var place = root.plain
        for var name in names {
            var next = csj_value()
            let isFound = name.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    csj_member(place, $0.baseAddress, $0.count, &next) == 0
                }
            }
            if !isFound {
                guard let index = Int(name), index >= 0, csj_element(place, index, &next) == 0
                else { return nil }
            }
            place = next
        }
        return JSONValue(JSONParser.Value(place))
    }
}

extension JSONDocument: CustomReflectable {
    /// Shows nothing: the content may be private.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension JSONText {
    /// Text with its parse; without a parse if the text is not JSON.
    public init(parsing text: String) {
        self.init(text, parsed: try? JSONDocument.parse(text))
    }
}
