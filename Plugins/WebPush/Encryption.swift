import SignalboxPluginKit

/// Encrypts a message for one subscription (RFC 8291, aes128gcm of RFC 8188), in a single record.
enum Encryption {
    /// Push services take bodies of 4,096 bytes: less the head of 86 bytes, a delimiter and the tag of 16.
    static let plainBytesMax = 4_096 - 86 - 1 - 16

    static func body(
        _ plain: [UInt8], for subscription: Subscription, _ host: Host
    ) throws(PluginError) -> [UInt8] {
        let (point, shared) = try host.agree(with: subscription.publicKey)
        let info = Array("WebPush: info\0".utf8) + subscription.publicKey + point
        let key = CryptoKey(
            bytes: try host.hkdf(
                key: CryptoKey(bytes: shared), salt: subscription.secret, info: info, count: 32))
        let salt = try host.random(16)
        let content = try host.hkdf(
            key: key, salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16)
        let nonce = try host.hkdf(
            key: key, salt: salt, info: Array("Content-Encoding: nonce\0".utf8), count: 12)
        // 2: the last record.
        let sealed = try host.seal(plain + [2], key: CryptoKey(bytes: content), nonce: nonce)
        let recordSize: [UInt8] = [0, 0, 0x10, 0]
        return salt + recordSize + [UInt8(point.count)] + point + sealed
    }
}
