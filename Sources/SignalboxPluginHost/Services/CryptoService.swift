internal import CSignalbox
internal import SignalboxCrypto

/// `sbx.crypto/1`. It works in the process of the plugin's instance, also where that is isolated.
enum CryptoService {
    private static let randomBytesMax = 64 * 1024

    static var table: sbx_crypto {
        var table = sbx_crypto()
        addDigests(to: &table)
        addKeys(to: &table)
        addSeals(to: &table)
        addTexts(to: &table)
        return table
    }

    private static func addDigests(to table: inout sbx_crypto) {
        table.digest = { host, hash, data, out, length in
            guard InstanceContext.from(host) != nil, let length else { return SBX_E_INVALID }
            return CryptoCall.status { () throws(PluginFault) in
                try CryptoCall.checked { () throws(CryptoError) in
                    try CryptoCall.hash(hash)?.digest(Array(data.raw))
                }
            } into: {
                SecretsService.copy($0, to: out, length)
            }
        }
        table.hmac = { host, hash, key, data, out, length, error in
            guard let length else { return SBX_E_INVALID }
            return CryptoCall.run("hmac()", host, error) { context throws(PluginFault) in
                let key = try CryptoCall.bytes(key, context, "hmac()")
                return try CryptoCall.checked { () throws(CryptoError) in
                    try CryptoCall.hash(hash)?.hmac(key: key, data: Array(data.raw))
                }
            } into: {
                SecretsService.copy($0, to: out, length)
            }
        }
        table.hkdf = { host, hash, key, salt, info, out, count, error in
            guard let out else { return SBX_E_INVALID }
            return CryptoCall.run("hkdf()", host, error) { context throws(PluginFault) in
                let key = try CryptoCall.bytes(key, context, "hkdf()")
                guard let function = CryptoCall.hash(hash) else {
                    throw CryptoCall.noHash
                }
                let made = try CryptoCall.checked { () throws(CryptoError) in
                    .some(
                        try function.hkdf(
                            key: key, salt: Array(salt.raw), info: Array(info.raw),
                            count: Int(clamping: count)))
                }
                guard let made else {
                    throw PluginFault(
                        .invalid, "at most \(255 * function.byteCount) bytes can be derived")
                }
                return made
            } into: {
                out.copyMemory(from: $0, byteCount: $0.count)
                return SBX_OK
            }
        }
    }

    private static func addKeys(to table: inout sbx_crypto) {
        table.agree = { host, own, peer, point, shared, error in
            guard let point, let shared else { return SBX_E_INVALID }
            return CryptoCall.run("agree()", host, error) { context throws(PluginFault) in
                let key = try own.map { own throws(PluginFault) in
                    try CryptoCall.bytes(own, context, "agree()")
                }
                return try CryptoCall.checked { () throws(CryptoError) in
                    let pair = try CryptoCall.pair(key)
                    let made = try pair.sharedSecret(with: Array(peer.raw))
                    return pair.publicKeyRaw.map { $0 + made }
                }
            } into: {
                point.copyMemory(from: $0, byteCount: 65)
                shared.copyMemory(from: Array($0.dropFirst(65)), byteCount: 32)
                return SBX_OK
            }
        }
        table.random = { host, out, count in
            guard InstanceContext.from(host) != nil, count <= CryptoService.randomBytesMax,
                let out
            else { return SBX_E_INVALID }
            guard let made = try? Digest.random(count) else { return SBX_E_INTERNAL }
            out.copyMemory(from: made, byteCount: made.count)
            return SBX_OK
        }
    }

    private static func addSeals(to table: inout sbx_crypto) {
        table.seal = { host, key, nonce, added, plain, out, length, error in
            guard let length else { return SBX_E_INVALID }
            return CryptoCall.run("seal()", host, error) { context throws(PluginFault) in
                let key = try CryptoCall.bytes(key, context, "seal()")
                return try CryptoCall.checked { () throws(CryptoError) in
                    try AESGCM.seal(
                        Array(plain.raw), key: key, nonce: Array(nonce.raw),
                        added: Array(added.raw))
                }
            } into: {
                SecretsService.copy($0, to: out, length)
            }
        }
        table.open = { host, key, nonce, added, sealed, out, length, error in
            guard let length else { return SBX_E_INVALID }
            return CryptoCall.run("open()", host, error) { context throws(PluginFault) in
                let key = try CryptoCall.bytes(key, context, "open()")
                let made = try CryptoCall.checked { () throws(CryptoError) in
                    .some(
                        try AESGCM.open(
                            Array(sealed.raw), key: key, nonce: Array(nonce.raw),
                            added: Array(added.raw)))
                }
                guard let made else { throw PluginFault(.auth, "the sealed bytes do not fit") }
                return made
            } into: {
                SecretsService.copy($0, to: out, length)
            }
        }
    }

    private static func addTexts(to table: inout sbx_crypto) {
        table.encode = { host, text, bytes, out, length in
            guard InstanceContext.from(host) != nil, let length else { return SBX_E_INVALID }
            guard let kind = TextKind(rawValue: text) else { return SBX_E_UNSUPPORTED }
            return SecretsService.copy(kind.encode(Array(bytes.raw)), to: out, length)
        }
        table.decode = { host, text, given, out, length in
            guard InstanceContext.from(host) != nil, let length else { return SBX_E_INVALID }
            guard let kind = TextKind(rawValue: text) else { return SBX_E_UNSUPPORTED }
            guard let bytes = kind.decode(Array(given.raw)) else { return SBX_E_INVALID }
            return SecretsService.copy(bytes, to: out, length)
        }
    }
}
