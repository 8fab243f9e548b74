internal import CSignalbox

/// `sbx.sign/1`.
enum SignService {
    static var table: sbx_sign {
        var table = sbx_sign()
        table.struct_size = UInt32(MemoryLayout<sbx_sign>.size)
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
                let fits = try context.services.verify(
                    try SignService.algorithm(algorithm),
                    key: try context.secrets.bytes(key.text, pointer: pointer.text),
                    data: Array(data.raw), signature: Array(signature.raw))
                return fits ? SBX_OK : SBX_E_AUTH
            } catch {
                return CError.write(
                    out, error.kind.rawValue, error.message, context.structs,
                    "verify() of sbx.sign/1")
            }
        }
        return table
    }

    private static func algorithm(_ number: UInt32) throws(PluginFault) -> SignAlgorithm {
        guard let known = SignAlgorithm(rawValue: number) else {
            throw PluginFault(.unsupported, "there is no algorithm \(number)")
        }
        return known
    }
}
