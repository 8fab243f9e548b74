internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxJSON

/// A parsed JWT whose signature is not verified.
struct JWT {
    let header: JSONValue
    let claims: JSONValue
    /// The bytes that are signed.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Parses the compact form; nil if malformed.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64.decode(parts[0]),
            let body = Base64.decode(parts[1]), let signature = Base64.decode(parts[2]),
            let header = try? JSONValue.parse(head), let claims = try? JSONValue.parse(body)
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }
}
