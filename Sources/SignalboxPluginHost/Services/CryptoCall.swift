internal import CSignalbox
internal import SignalboxCrypto

/// What the functions of `sbx.crypto/1` share: how they read keys and answer.
enum CryptoCall {
    static let noHash = PluginFault(.unsupported, "there is no such hash")

    static func hash(_ number: UInt32) -> HashFunction? { HashFunction(rawValue: number) }

    /// A result of the library; nil means that the hash is unknown.
    static func checked<Value>(
        _ body: () throws(CryptoError) -> Value?
    ) throws(PluginFault) -> Value {
        let made: Value?
        do throws(CryptoError) {
            made = try body()
        } catch {
            throw PluginFault(.invalid, error.message)
        }
        guard let made else { throw noHash }
        return made
    }

    /// The pair of a private key in PEM or of 32 bytes; without one, a new pair.
    static func pair(_ key: [UInt8]?) throws(CryptoError) -> SigningKey {
        guard let key else { return try SigningKey.newP256() }
        return key.count == 32 ? try SigningKey(p256Scalar: key) : try SigningKey(pem: key)
    }

    /// The bytes of a key.
    static func bytes(
        _ key: UnsafePointer<sbx_crypto_key>?, _ context: InstanceContext, _ call: String
    ) throws(PluginFault) -> [UInt8] {
        let read = key.flatMap { key in
            context.structs.reading("\(call) of sbx.crypto/1") { () throws(StructFault) in
                try context.structs.read(key)
            }
        }
        guard let key = read else { throw PluginFault(.invalid, "the key is malformed") }
        guard !key.secret.isEmpty else { return Array(key.bytes.raw) }
        let name = key.secret.text
        var secret = try context.secrets.bytes(name, pointer: key.pointer.text)
        if key.text != 0 {
            guard let kind = TextKind(rawValue: key.text) else {
                throw PluginFault(.unsupported, "there is no kind \(key.text) of text")
            }
            guard let decoded = kind.decode(secret) else {
                throw PluginFault(.invalid, "the secret \"\(name)\" is not \(kind) text")
            }
            secret = decoded
        }
        return Array(key.prefix.raw) + secret
    }

    /// Makes bytes for a plugin and hands them over; a fault goes into its error.
    static func run(
        _ call: String, _ host: UnsafePointer<sbx_host>?,
        _ error: UnsafeMutablePointer<sbx_error>?,
        _ body: (InstanceContext) throws(PluginFault) -> [UInt8],
        into take: ([UInt8]) -> sbx_status
    ) -> sbx_status {
        guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
        do throws(PluginFault) {
            return take(try body(context))
        } catch let fault {
            return CError.write(
                error, fault.kind.rawValue, fault.message, context.structs,
                "\(call) of sbx.crypto/1")
        }
    }

    /// The same for a function without an error.
    static func status(
        _ body: () throws(PluginFault) -> [UInt8], into take: ([UInt8]) -> sbx_status
    ) -> sbx_status {
        do throws(PluginFault) {
            return take(try body())
        } catch {
            return error.kind.rawValue
        }
    }
}
