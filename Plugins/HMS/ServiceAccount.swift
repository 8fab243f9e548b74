import SignalboxPluginKit

/// The public fields of a service account, for API v3; its private key stays in the host.
struct ServiceAccount: Sendable {
    static let secret = "service_account"
    static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"

    let projectID: String
    private let keyID: String
    private let subAccount: String

    init(_ host: Host) throws(PluginError) {
        let bytes = try host.secret(Self.secret)
        guard let json = try? host.parse(bytes.span), json.kind == .object else {
            throw PluginError(.invalid, "config.service_account is not a JSON object")
        }
        func text(_ name: String) throws(PluginError) -> String {
            guard let text = json[name]?.string, !text.isEmpty else {
                throw PluginError(.invalid, "config.service_account has no \"\(name)\"")
            }
            return text
        }
        projectID = try text("project_id")
        keyID = try text("key_id")
        subAccount = try text("sub_account")
        _ = try text("private_key")
    }

    /// A signed token for an hour, which Huawei takes as it is.
    func token(_ host: Host) throws(PluginError) -> Credential {
        let now = host.nowUnixMs
        do throws(PluginError) {
            let token = try host.webToken(
                .ps256, key: Self.secret, pointer: "/private_key", keyID: keyID
            ) { out in
                out.member("iss", subAccount)
                out.member("aud", Self.audience)
                out.member("iat", now / 1000)
                out.member("exp", now / 1000 + 3600)
            }
            return Credential(
                value: token, refreshUnixMs: now + 50 * 60_000, expiresUnixMs: now + 3_600_000)
        } catch {
            throw PluginError(.invalid, "the service account's key does not sign: \(error.message)")
        }
    }
}
