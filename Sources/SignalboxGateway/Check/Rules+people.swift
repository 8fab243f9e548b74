internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto

/// `devices:`.
extension CheckRule {
    static let people = [
        CheckRule(.fault, "bad-keys") { subject in
            subject.config.deviceUsers.compactMap { group in
                guard !group.keys.isEmpty else { return nil }
                do throws(CryptoError) {
                    _ = try KeySet(group.keys)
                    return nil
                } catch {
                    return Finding(
                        group.position, "devices users \"\(group.name)\": keys: \(error.message)")
                }
            }
        },
        CheckRule(.fault, "bad-value") { subject in
            let groups = subject.config.deviceUsers
            return groups.enumerated().compactMap { index, group in
                let isSame = groups[..<index].contains {
                    $0.issuer == group.issuer && $0.audience == group.audience
                        && $0.app != group.app
                }
                guard isSame else { return nil }
                return Finding(
                    group.position,
                    "devices users \"\(group.name)\": another entry has the same issuer; give each "
                        + "an audience, so that a token says which app it is for")
            }
        },
        CheckRule(.warning, "shared-token") { subject in sharedTokens(subject) },
        CheckRule(.warning, "no-scopes") { subject in
            (subject.config.given?["devices"]?["clients"]?.items ?? []).compactMap { client in
                guard case .list(let scopes)? = client["scopes"]?.kind, scopes.isEmpty else {
                    return nil
                }
                return Finding(
                    client["scopes"]?.position ?? client.position,
                    "devices client \"\(client["name"]?.string ?? "")\": scopes is empty, so every "
                        + "request of this client is answered 403")
            }
        },
    ]

    /// Secrets of the file that equal the admin token or the token of a registry client.
    private static func sharedTokens(_ subject: CheckSubject) -> [Finding] {
        let given = subject.config.given
        let admin = given?["gateway"]?["admin_token"]
        let clients = (given?["devices"]?["clients"]?.items ?? []).compactMap { $0["token"] }
        let places = (given?.entries ?? []).filter {
            // These hold content that is sent or tested, not secrets.
            !["routes", "texts", "tests"].contains($0.key)
        }
        return places.flatMap(\.value.texts).compactMap { value in
            guard let text = value.string, !text.isEmpty, !value.isStandIn else { return nil }
            func isSame(_ other: ConfigValue?) -> Bool {
                other?.string == text && other?.position != value.position
            }
            if isSame(admin) {
                return Finding(
                    value.position,
                    "this is admin_token, too, so whoever has it can do what operators can; give it a secret of "
                        + "its own")
            }
            // Two clients with the same token have a finding of their own, and so has admin_token.
            let isToken = ([admin] + clients).contains { $0?.position == value.position }
            guard !isToken, clients.contains(where: { isSame($0) }) else { return nil }
            return Finding(
                value.position,
                "this is the token of a client of devices, too, so whoever has it can do what this client can; "
                    + "give it a secret of its own")
        }
    }
}
