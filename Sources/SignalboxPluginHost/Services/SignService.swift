internal import CSignalbox

/// `sbx.sign/1`.
enum SignService {
    static var table: sbx_sign {
        var table = sbx_sign()
        table.sign = { host, algorithm, key, pointer, data, signature, length, out in
            guard let context = InstanceContext.from(host), let length else { return SBX_E_INVALID }
            do throws(PluginFault) {
                let made = try context.services.sign(
                    try SignService.algorithm(algorithm),
                    key: try context.secrets.bytes(key.text, pointer: pointer.text),
                    data: Array(data.raw))
                return SecretsService.copy(made, to: signature, length)
            } catch {
                return CError.write(
                    out, error.kind.rawValue, error.message, context.structs, "sign() of sbx.sign/1"
                )
            }
        }
        table.verify = { host, algorithm, key, pointer, data, signature, out in
            guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
            do throws(PluginFault) {
                let algorithm = try SignService.algorithm(algorithm)
                let fits = try context.services.verify(
                    algorithm,
                    key: try SignService.key(
                        key, pointer.text, isPublic: !algorithm.isKeyed, context.secrets),
                    data: Array(data.raw), signature: Array(signature.raw))
                return fits ? SBX_OK : SBX_E_AUTH
            } catch {
                return CError.write(
                    out, error.kind.rawValue, error.message, context.structs,
                    "verify() of sbx.sign/1")
            }
        }
        table.public_key = { host, key, pointer, form, buffer, length, out in
            guard let context = InstanceContext.from(host), let length else { return SBX_E_INVALID }
            do throws(PluginFault) {
                guard let form = PublicKeyForm(rawValue: form) else {
                    throw PluginFault(.unsupported, "there is no form \(form) of public keys")
                }
                let made = try context.services.publicKey(
                    form, key: try context.secrets.bytes(key.text, pointer: pointer.text))
                return SecretsService.copy(made, to: buffer, length)
            } catch {
                return CError.write(
                    out, error.kind.rawValue, error.message, context.structs,
                    "public_key() of sbx.sign/1")
            }
        }
        return table
    }

    /// The key of a verification. One that is public may be given itself in place of a name.
    private static func key(
        _ key: sbx_str, _ pointer: String, isPublic: Bool, _ secrets: SecretBox
    ) throws(PluginFault) -> [UInt8] {
        guard isPublic else { return try secrets.bytes(key.text, pointer: pointer) }
        let name = key.text
        let isItself = name.hasPrefix("{") || name.hasPrefix("-----BEGIN ")
        guard let document = isItself ? Array(key.raw) : secrets.bytes(name) else {
            throw PluginFault(.notFound, "there is no secret \"\(name)\"")
        }
        if pointer.isEmpty { return document }
        guard let part = KeyDocument.part(of: document, at: pointer) else {
            throw PluginFault(
                .notFound,
                "\(isItself ? "the given key" : "the secret \"\(name)\"") has no key at \(pointer)")
        }
        return part
    }

    private static func algorithm(_ number: UInt32) throws(PluginFault) -> SignAlgorithm {
        guard let known = SignAlgorithm(rawValue: number) else {
            throw PluginFault(.unsupported, "there is no algorithm \(number)")
        }
        return known
    }
}
