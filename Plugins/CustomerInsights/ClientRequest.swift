import SignalboxPluginKit
import Synchronization

/// Requests to Customer Insights.
enum ClientRequest {
    static func registration(
        _ entries: [ClientState.Entry], isBatch: Bool, _ app: Config.App, _ token: String,
        _ client: Config.Client
    ) -> RequestDraft {
        func write(_ entry: ClientState.Entry, to out: inout JSONWriter) {
            out.object { out in
                out.member("MobileAppId", app.mobileAppID)
                out.member("UserId", entry.device.user)
                out.member("ApiToken", token)
                let isApple = entry.device.platform == "ios"
                out.member(isApple ? "ApnsDeviceToken" : "FcmDeviceToken", entry.device.token)
            }
        }
        var body = JSONWriter()
        if isBatch {
            body.array { out in for entry in entries { write(entry, to: &out) } }
        } else if let entry = entries.first {
            write(entry, to: &body)
        }
        let path = "\(client.prefix)/pushdeviceregistration/devices\(isBatch ? "/batch" : "")"
        var headers = [("x-ms-track-registration", "true")]
        if let nonce = entries.first?.nonce, !nonce.isEmpty {
            let url = "\(client.callbackURL)/\(nonce)"
            // The documentation uses both names for the header.
            headers += [("x-ms-callback-url", url), ("x-ms-status-callback-url", url)]
        }
        return draft(path, headers, body)
    }

    static func status(
        _ ids: [String], _ app: Config.App, _ token: String, _ client: Config.Client
    ) -> RequestDraft {
        var body = JSONWriter()
        body.object { out in
            out.key("RegistrationRequestIds")
            out.array { out in for id in ids { out.string(id) } }
            out.member("MobileAppId", app.mobileAppID)
            out.member("ApiToken", token)
        }
        return draft("\(client.prefix)/pushdeviceregistration/devices/status/", [], body)
    }

    static func cleanup(
        _ changes: [ChangeBatch.Change], _ app: Config.App, _ token: String,
        _ client: Config.Client
    ) -> RequestDraft {
        func write(_ change: ChangeBatch.Change, to out: inout JSONWriter) {
            out.object { out in
                out.member("MobileAppId", app.mobileAppID)
                out.member("ApiToken", token)
                out.member("UserId", change.device.user)
                // Without it every device of the user would be removed.
                out.member("DeviceToken", change.device.token)
            }
        }
        var body = JSONWriter()
        let path = "\(client.prefix)/pushdeviceregistration/devices/cleanup"
        guard !client.cleansOneByOne else {
            if let change = changes.first { write(change, to: &body) }
            return draft(path, [], body)
        }
        body.array { out in for change in changes { write(change, to: &out) } }
        return draft("\(path)/batch", [], body)
    }

    private static func draft(
        _ path: String, _ headers: [(String, String)], _ body: JSONWriter
    ) -> RequestDraft {
        var draft = RequestDraft()
        draft.begin("POST", path: path)
        draft.header("content-type", "application/json")
        for (name, value) in headers { draft.header(name, value) }
        draft.appendBody(body.bytes.span)
        return draft
    }
}
