internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import Synchronization

/// Values that replace missing variables and secret files where a configuration is only inspected.
final class StandIns: Sendable {
    private let used = Mutex<[String]>([])

    /// The missing names, in file order.
    var names: [String] { used.withLock { $0 } }

    func value(_ missing: ConfigEnvironment.Missing) -> String {
        let (shown, name) =
            switch missing {
            case .variable(let name): ("${env:\(name)}", name)
            case .file(let path): ("${file:\(path)}", path)
            }
        used.withLock { if !$0.contains(shown) { $0.append(shown) } }
        // Letters and digits match most patterns, and the same name always yields the same text.
        return Self.text(for: name.lowercased())
            ?? name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    /// A text of the kind that the name suggests; nil if any text will do.
    private static func text(for name: String) -> String? {
        if name.hasSuffix("json") || name.contains("service_account") { return account }
        guard [".p8", ".pem", ".key"].contains(where: name.hasSuffix) else { return nil }
        return try? String(decoding: ThrowAway.p256Key().privateKeyPEM(), as: UTF8.self)
    }

    /// The members of a service account, as providers name them.
    private static var account: String {
        let key = try? String(decoding: ThrowAway.rsaKey().privateKeyPEM(), as: UTF8.self)
        return JSONValue.object([
            .init("type", .string("service_account")), .init("project_id", .string("stand-in")),
            .init("private_key_id", .string("stand-in")), .init("private_key", .string(key ?? "")),
            .init("key_id", .string("stand-in")), .init("sub_account", .string("stand-in")),
            .init("client_email", .string("stand-in@example.com")),
            .init("token_uri", .string("https://oauth2.googleapis.com/token")),
        ]).text
    }

    /// A certificate with its key, for plugins whose own cannot be read.
    static func identity() throws(CryptoError) -> ThrowAway.Identity {
        try ThrowAway.clientIdentity(
            name: "stand-in", userID: "com.example.stand-in",
            authority: try ThrowAway.certificateAuthority(name: "stand-in"))
    }
}
