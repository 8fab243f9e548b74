import SignalboxPluginKit

/// The rules of ActivityKit for `aps` of a Live Activity. The device drops what breaks them and Apple answers 200, so
/// nobody would learn of it.
enum LiveActivity {
    /// Latest time that counts as seconds; more are milliseconds by mistake.
    private static let lastSecond: Int64 = 253_402_300_799

    /// Why a payload would have no effect; nil if it is fine. `isBroadcast`: it goes to a channel.
    static func fault(in payload: JSON, isBroadcast: Bool) -> String? {
        guard let aps = payload["aps"], aps.kind == .object else { return "aps is no object" }
        guard let event = aps["event"]?.string, ["start", "update", "end"].contains(event) else {
            return "aps.event must be start, update or end"
        }
        guard let time = aps["timestamp"], isTime(time) else {
            return "aps.timestamp must be whole seconds since 1970"
        }
        for name in ["stale-date", "dismissal-date"] {
            if let value = aps[name], !isTime(value) {
                return "aps.\(name) must be whole seconds since 1970"
            }
        }
        if let score = aps["relevance-score"], ![.integer, .number].contains(score.kind) {
            return "aps.relevance-score must be a number"
        }
        let state = aps["content-state"]
        guard state.map({ $0.kind == .object }) ?? (event == "end") else {
            return "aps.content-state must be an object"
        }
        return event == "start" ? startFault(aps, isBroadcast: isBroadcast) : nil
    }

    private static func startFault(_ aps: JSON, isBroadcast: Bool) -> String? {
        if isBroadcast { return "a broadcast cannot start a Live Activity" }
        guard let type = aps["attributes-type"]?.string, !type.isEmpty else {
            return "a start needs aps.attributes-type, the name of the app's type"
        }
        guard aps["attributes"]?.kind == .object else {
            return "a start needs aps.attributes, an object"
        }
        guard let alert = aps["alert"], alert.kind == .object, alert.count > 0 else {
            return "a start needs an alert: a title or a body"
        }
        if aps["input-push-token"] != nil, aps["input-push-channel"] != nil {
            return "updates come by input-push-token or by input-push-channel, not by both"
        }
        if let channel = aps["input-push-channel"], channel.string?.isEmpty != false {
            return "aps.input-push-channel must be a channel's id"
        }
        return nil
    }

    private static func isTime(_ value: JSON) -> Bool {
        value.integer.map { (0...lastSecond).contains($0) } == true
    }

    /// The texts that may be shortened: not the names of texts in the app.
    static func addPlaces(of payload: [UInt8], to limit: inout PayloadLimit, _ host: Host) {
        guard let payload = try? host.parse(payload.span) else { return }
        for (field, name) in [(PayloadLimit.Field.body, "body"), (.title, "title")] {
            let place = "/aps/alert/\(name)"
            guard let value = payload.at(place) else { continue }
            limit.places.append((field, value.kind == .object ? place + "/loc-args" : place))
        }
    }

    /// Writes `alert`, whose texts may be names in the app, and `timestamp`.
    static func write(
        _ content: PushNotification, _ localized: LocalizedTexts, eventUnixMs: UInt64,
        to out: inout JSONWriter
    ) {
        func write(_ name: String, _ text: String, _ own: LocalizedText?, to out: inout JSONWriter)
        {
            guard let own else {
                out.member(name, text)
                return
            }
            out.key(name)
            out.object { out in
                out.member("loc-key", own.key)
                out.strings("loc-args", own.arguments)
            }
        }
        out.member("timestamp", eventUnixMs / 1000)
        guard !content.title.isEmpty || !content.body.isEmpty || !localized.isEmpty else { return }
        out.key("alert")
        out.object { out in
            write("title", content.title, localized.title, to: &out)
            write("body", content.body, localized.body, to: &out)
            out.member("sound", content.sound)
        }
    }
}
