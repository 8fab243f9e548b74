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
        CheckRule(.warning, "shared-token") { subject in
            let gateway = subject.config.gateway
            let places = subject.config.given?["devices"]?["clients"]?.items ?? []
            return subject.config.deviceClients.compactMap { client in
                guard client.token == gateway.adminToken else { return nil }
                let place = places.first { $0["name"]?.string == client.name }
                return Finding(
                    place?["token"]?.position ?? subject.config.start,
                    "devices client \"\(client.name)\": its token is admin_token, too, so this client "
                        + "can do what operators can; give it its own")
            }
        },
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
}
