internal import SignalboxCrypto

/// How bytes are written as text; mirrors `SBX_TEXT_*`.
enum TextKind: UInt32 {
    case hex = 1
    case base64, base64url

    func encode(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .hex: Array(Hex.encode(bytes).utf8)
        case .base64: Array(Base64.encode(bytes).utf8)
        case .base64url: Array(Base64.encode(bytes, url: true).utf8)
        }
    }

    /// The bytes; nil if it is not text of this kind.
    func decode(_ text: [UInt8]) -> [UInt8]? {
        let text = String(decoding: text, as: UTF8.self)
        return self == .hex ? Hex.decode(text) : Base64.decode(text)
    }
}
