import Foundation
import SignalboxCore
import SignalboxCrypto

/// A browser's subscription: makes its keys, and reads what is encrypted for it (RFC 8291, RFC 8188).
package struct PushSubscription: Sendable {
    private let key: SigningKey
    private let point: [UInt8]
    private let secret: [UInt8]

    package init() throws {
        key = try SigningKey.newP256()
        point = key.publicKeyRaw ?? []
        secret = (0..<16).map { _ in UInt8.random(in: 0...255) }
    }

    /// What a browser gives to its page.
    package var attributes: [Attribute] {
        [Attribute("p256dh", Self.text(point)), Attribute("auth", Self.text(secret))]
    }

    private static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// The message in the body of a push; nil if it is not for this subscription.
    package func open(_ body: [UInt8]) throws -> [UInt8]? {
        guard body.count > 103, body[20] == 65 else { return nil }
        let (salt, sender) = (Array(body[..<16]), Array(body[21..<86]))
        let shared = try key.sharedSecret(with: sender)
        let hash = HashFunction.sha256
        func derive(_ key: [UInt8], _ salt: [UInt8], _ info: [UInt8], _ count: Int) throws
            -> [UInt8]
        {
            try hash.hkdf(key: key, salt: salt, info: info, count: count) ?? []
        }
        let info = Array("WebPush: info\0".utf8) + point + sender
        let input = try derive(shared, secret, info, 32)
        let content = try derive(input, salt, Array("Content-Encoding: aes128gcm\0".utf8), 16)
        let nonce = try derive(input, salt, Array("Content-Encoding: nonce\0".utf8), 12)
        guard
            let plain = try AESGCM.open(
                Array(body[86...]), key: content, nonce: nonce, added: []), plain.last == 2
        else { return nil }
        return plain.dropLast()
    }
}
