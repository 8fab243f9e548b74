import SignalboxPluginKit

/// A registration, as an app's server sends it.
struct Registration: Sendable {
    let app: Config.App
    let user: String
    let token: String
    let platform: String
    /// Whether the ApiToken is the app's. If not, the answer is the same but nothing is stored.
    let isAuthorized: Bool
    let requestID: String
    /// No registry takes its user.
    let isUnusable: Bool
    /// In Unix milliseconds.
    let sinceMs: UInt64

    init(
        _ json: JSON, path: String, server: Config.Server, host: Host
    ) throws(PluginError) {
        let reader = Reader(json: json, path: path)
        try reader.checkObject()
        app = try reader.app(server)
        let named = try reader.user()
        user = named ?? ""
        isUnusable = named == nil
        sinceMs = host.nowUnixMs
        let apiToken = try reader.text("ApiToken")
        // A token that is too long fails its own registration, not the batch.
        let apns = try reader.text("ApnsDeviceToken", max: .max, isRequired: false)
        let fcm = try reader.text("FcmDeviceToken", max: .max, isRequired: false)
        guard apns.isEmpty != fcm.isEmpty else {
            throw Fault.twoTokens(path: path.isEmpty ? "" : "\(path): ").error
        }
        // APNs tokens are hexadecimal; normalize them to lower case.
        token = apns.isEmpty ? fcm : apns.lowercased()
        platform = apns.isEmpty ? "android" : "ios"
        isAuthorized = try host.secretEquals(app.token, apiToken)
        requestID = GUID.make()
    }
}

/// Reads members of an object; an error names the member by its path.
struct Reader {
    let json: JSON
    let path: String

    func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func checkObject() throws(PluginError) {
        guard json.kind == .object else { throw Fault.notAnObject(path: path).error }
    }

    func text(
        _ key: String, max: Int = 4_096, isRequired: Bool = true
    ) throws(PluginError) -> String {
        guard let value = json[key], value.kind != .null else {
            if isRequired { throw Fault.missing(path: name(key)).error }
            return ""
        }
        guard let text = value.string else {
            throw Fault.wrong(path: name(key), what: "must be text").error
        }
        guard !text.isEmpty || !isRequired else { throw Fault.missing(path: name(key)).error }
        guard text.utf8.count <= max else {
            throw Fault.wrong(path: name(key), what: "is over \(max) bytes").error
        }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw Fault.wrong(path: name(key), what: "holds control characters").error
        }
        return text
    }

    /// The user; nil if the gateway takes no user of this name.
    func user() throws(PluginError) -> String? {
        guard let value = json["UserId"], let user = value.string, !user.isEmpty else {
            return try text("UserId")
        }
        let isPlain = user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        return isPlain && user.utf8.count <= 256 ? user : nil
    }

    /// Text for people, of any length: senders shorten it. Numbers and booleans become text.
    func words(_ key: String, isRequired: Bool) throws(PluginError) -> String {
        let value = json[key]
        guard let text = value?.scalarText, !text.isEmpty else {
            guard value == nil || value?.kind == .null || value?.string != nil else {
                throw Fault.wrong(path: name(key), what: "must be text").error
            }
            if isRequired { throw Fault.missing(path: name(key)).error }
            return ""
        }
        return text
    }

    func app(_ server: Config.Server) throws(PluginError) -> Config.App {
        guard let app = server.app(try text("MobileAppId", max: 64)) else {
            throw Fault.unknownApp(path: name("MobileAppId")).error
        }
        return app
    }
}

/// The request headers of a registration.
struct Tracking: Sendable {
    let isTracked: Bool
    let callbackURL: String
    /// A JSON object of strings; empty for none.
    let callbackHeaders: String

    init(_ request: borrowing Request, server: Config.Server, host: Host) throws(PluginError) {
        isTracked = request.header("x-ms-track-registration")?.lowercased() == "true"
        // The documentation uses both names for the header.
        let url =
            request.header("x-ms-callback-url") ?? request.header("x-ms-status-callback-url") ?? ""
        guard url.isEmpty || Self.isFit(url, allowsHTTP: server.callsPrivate) else {
            throw Fault.callbackURL.error
        }
        callbackURL = url
        let headers = request.header("x-ms-callback-url-headers") ?? ""
        if url.isEmpty || headers.isEmpty {
            callbackHeaders = ""
        } else {
            _ = try Self.headers(headers, host: host)
            callbackHeaders = headers
        }
    }

    private static func isFit(_ url: String, allowsHTTP: Bool) -> Bool {
        let lower = url.lowercased()
        let isHTTP = lower.hasPrefix("http://")
        guard lower.hasPrefix("https://") || allowsHTTP && isHTTP, url.utf8.count <= 2_048,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return false }
        let authority = url.dropFirst(isHTTP ? 7 : 8).prefix { !"/?#\\".contains($0) }
        return !authority.isEmpty && !authority.contains("@")
    }

    private static let forbidden: Set = [
        "host", "content-length", "content-type", "connection", "transfer-encoding", "te",
        "upgrade", "trailer", "keep-alive", "expect", "proxy-authorization",
    ]

    /// Parses and validates the dictionary of `x-ms-callback-url-headers`.
    static func headers(_ text: String, host: Host) throws(PluginError) -> [(String, String)] {
        guard text.utf8.count <= 8_192, let json = try? host.parse(text.utf8.span),
            json.kind == .object
        else { throw Fault.callbackHeaders("must be a JSON object of texts").error }
        let members = json.members
        guard members.count <= 32 else {
            throw Fault.callbackHeaders("at most 32 headers are sent").error
        }
        var out: [(String, String)] = []
        for member in members {
            let name = member.key.lowercased()
            let isName =
                !name.isEmpty
                && name.utf8.allSatisfy {
                    $0 > 0x20 && $0 < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains($0)
                }
            guard isName, !forbidden.contains(name), let value = member.value.string,
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw Fault.callbackHeaders("a name or value cannot be sent").error }
            out.append((member.key, value))
        }
        return out
    }
}

/// Random GUIDs (version 4).
enum GUID {
    static func make() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Hex.encode(bytes)
        var out = ""
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { out.append("-") }
            out.append(digit)
        }
        return out
    }
}
