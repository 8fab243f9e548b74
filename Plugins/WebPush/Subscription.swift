import SignalboxPluginKit

/// Where a browser gets its pushes: the endpoint is the device's token, the keys are its attributes.
struct Subscription {
    /// `https://updates.push.services.mozilla.com`.
    let origin: String
    let path: String
    /// The browser's public key, 65 bytes.
    let publicKey: [UInt8]
    /// The secret that the browser shares with us, 16 bytes.
    let secret: [UInt8]

    /// nil if the device is not a valid subscription.
    init?(_ device: Device) {
        func attribute(_ name: String) -> [UInt8]? {
            device.attributes.first { $0.0 == name }.flatMap { Base64URL.decode($0.1) }
        }
        let token = device.token
        guard token.hasPrefix("https://"), let publicKey = attribute("p256dh"),
            publicKey.count == 65, publicKey.first == 4, let secret = attribute("auth"),
            secret.count == 16
        else { return nil }
        let authority = token.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        let rest = token.dropFirst("https://".count + authority.count)
        guard Self.isHost(authority), rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 })
        else { return nil }
        origin = "https://\(authority.lowercased())"
        path = rest.hasPrefix("/") ? String(rest) : "/\(rest)"
        self.publicKey = publicKey
        self.secret = secret
    }

    /// A host, perhaps with a port: what the gateway takes as an origin.
    private static func isHost(_ text: Substring) -> Bool {
        guard let first = text.first, let last = text.last else { return false }
        return first != ":" && last != ":" && text.utf8.count <= 280
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || ".-:[]".utf8.contains(byte)
            }
    }
}
