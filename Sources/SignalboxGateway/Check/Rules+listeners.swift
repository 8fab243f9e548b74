package import SignalboxConfig
internal import SignalboxCore
package import SignalboxHTTP

/// `gateway.listen`, `admin` and `tls`.
extension CheckRule {
    static let listeners = [
        CheckRule(.fault, "admin-needs-token") { subject in
            let finding = subject.config.gateway.admin.flatMap { adminFault($0, subject.config) }
            return finding.map { [$0] } ?? []
        },
        CheckRule(.fault, "bad-tls") { subject in
            guard let tls = subject.config.gateway.tls else { return [] }
            let given = subject.config.given?["gateway"]?["tls"]
            do throws(HTTPServerTLS.Unusable) {
                _ = try HTTPServerTLS(tls)
                return []
            } catch {
                let value =
                    switch error.part {
                    case .certificate: given?["certificate"]
                    case .key, .pair: given?["key"]
                    case .clientRoots: given?["client_ca"]
                    case .other: given
                    }
                return [
                    Finding(
                        value?.position ?? tls.position, "gateway.tls: \(error)\(fileHint(value))")
                ]
            }
        },
        CheckRule(.machineFault, "cannot-listen") { subject in
            let (options, gateway) = (subject.options, subject.config.gateway)
            return [
                ("gateway", "listen", gateway.listen, options.sockets.listen == nil),
                ("gateway", "admin", gateway.admin, options.sockets.admin == nil),
                ("devices", "listen", gateway.devicesListen, true),
            ].compactMap { section, key, address, isOwn in
                // The process that listens there now may be the gateway itself.
                guard isOwn, let address,
                    let words = ListeningSocket.refusal(
                        host: address.host, port: address.port, mayBeInUse: true)
                else { return nil }
                return Finding(
                    subject.config.given?[section]?[key]?.position ?? subject.config.start,
                    "\(section).\(key): cannot listen on \(address): \(words)")
            }
        },
        CheckRule(.machineWarning, "socket-in-use") { subject in
            // At startup, opening the socket shows this anyway.
            guard subject.options.isCheck else { return [] }
            let gateway = subject.config.gateway
            return [("listen", gateway.listen), ("admin", gateway.admin)].compactMap {
                key, address in
                guard let path = address?.path, let other = ListeningProcess(path),
                    !other.isGateway(data: subject.dataFolder)
                else { return nil }
                return Finding(
                    subject.config.given?["gateway"]?[key]?.position ?? subject.config.start,
                    "gateway.\(key): \(other.words) listens on \(path), and is not the gateway of this file"
                )
            }
        },
    ]

    /// The finding for an admin listener that other machines can reach without a token; nil if it is safe.
    static func adminFault(_ address: ListenAddress, _ config: GatewayConfig) -> Finding? {
        guard !address.isLoopback, config.gateway.adminToken == nil else { return nil }
        return Finding(
            config.gateway.adminPosition ?? config.start,
            "gateway: other machines can reach the admin listener on \(address); "
                + "set admin_token, or listen on 127.0.0.1")
    }

    /// A hint for a path that was given instead of the file's content.
    private static func fileHint(_ value: ConfigValue?) -> String {
        guard let value, !value.isSecret, let text = value.string, !text.contains("\n"),
            !text.isEmpty, text.utf8.count < 200
        else { return "" }
        return "; for a file write \"${file:\(text)}\""
    }
}

extension HTTPServerTLS {
    package init(_ settings: TLSSettings) throws(Unusable) {
        try self.init(
            certificateChainPEM: settings.certificate, privateKeyPEM: settings.key,
            clientRootsPEM: settings.clientRoots)
    }
}
