internal import CSignalbox
internal import SignalboxCore

/// `sbx.certificate/1`.
enum CertificateService {
    static var table: sbx_certificates {
        var table = sbx_certificates()
        table.read = { host, secret, password, out, error in
            guard let context = InstanceContext.from(host), let out,
                let scope = CallScope.current
            else { return SBX_E_INVALID }
            do throws(PluginFault) {
                let bytes = try context.secrets.bytes(secret.text, pointer: "")
                let opener =
                    password.isEmpty ? nil : try context.secrets.bytes(password.text, pointer: "")
                let found = try context.services.certificate(bytes, password: opener)
                out.pointee = CertificateService.write(found, in: scope.arena)
                return SBX_OK
            } catch let fault {
                return CError.write(
                    error, fault.kind.rawValue, fault.message, context.structs,
                    "read() of sbx.certificate/1")
            }
        }
        return table
    }

    private static func write(
        _ found: PluginCertificate, in arena: CArena
    ) -> UnsafePointer<sbx_certificate> {
        let out = arena.make(sbx_certificate.self)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_certificate>.size)
        out.pointee.subject = arena.text(found.subject)
        out.pointee.user_id = arena.text(found.userID)
        out.pointee.not_before_unix_s = found.notBeforeUnixS
        out.pointee.not_after_unix_s = found.notAfterUnixS
        let list = arena.array(sbx_certificate_extension.self, count: found.extensions.count)
        for (index, one) in found.extensions.enumerated() {
            list[index] = sbx_certificate_extension(
                oid: arena.text(one.oid), der: arena.bytes(one.der))
        }
        out.pointee.extensions = UnsafePointer(list)
        out.pointee.extension_count = found.extensions.count
        return UnsafePointer(out)
    }
}
