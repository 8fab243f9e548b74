import SignalboxPluginKit

extension LivePerson {
    /// Puts the payload where the SDKs read it: on iOS at the top level, next to `aps`; on Android `message` and
    /// `payload` (as text) in the data.
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        var apple: [BuildSink.Target] = []
        var android: [BuildSink.Target] = []
        for index in 0..<input.recipientCount {
            if input.recipient(index).device.platform == "ios" {
                apple.append(.init(index))
            } else {
                android.append(.init(index))
            }
        }
        if !apple.isEmpty { try sink.emit(appleNotification(data), to: apple) }
        if !android.isEmpty { try sink.emit(androidNotification(data), to: android) }
    }

    private func common(_ data: JSON) -> PushNotification {
        var note = PushNotification()
        note.title = data.at("/aps/alert/title")?.scalarText ?? ""
        note.body = ProxyPush.message(data)
        note.sound = data.at("/aps/sound")?.string ?? config.sound
        note.priority = .high
        note.isDataOnly = true
        // Brands pass the number on unchanged: it is the running count.
        note.badge = data.at("/lp/badge")?.integer.map { Int32(clamping: $0) }
        note.thread = data.at("/lp/conversationId")?.string ?? ""
        // The only text in the data that may be shortened; the rest are ids, or JSON that the SDK parses.
        note.overrides = [("shorten", #"{"places":["/message"]}"#)]
        return note
    }

    /// Keys of the proxy, and of this plugin, which the SDK does not read.
    private static let ownKeys: Set = ["aps", "device-token", "push-service", "lp"]

    private func appleNotification(_ data: JSON) -> PushNotification {
        var note = common(data)
        var keys = JSONWriter()
        keys.object { out in
            for member in data.members where !Self.ownKeys.contains(member.key) {
                out.key(member.key)
                out.value(member.value)
            }
        }
        note.data = keys.text
        // `aps` is kept exactly as received.
        if let aps = data["aps"], aps.kind == .object {
            var patch = JSONWriter()
            patch.object { out in
                out.key("aps")
                out.object { out in
                    for member in aps.members where member.key != "badge" {
                        out.key(member.key)
                        out.value(member.value)
                    }
                }
            }
            note.overrides.append(("apns", patch.text))
        }
        return note
    }

    private func androidNotification(_ data: JSON) -> PushNotification {
        var note = common(data)
        let given = data["data"]
        var keys = JSONWriter()
        keys.object { out in
            for member in given?.members ?? [] {
                out.key(member.key)
                // FCM accepts only strings: an object is sent as JSON text.
                out.string(member.value.string ?? member.value.text)
            }
            for member in data.members
            where !Self.ownKeys.contains(member.key) && member.key != "data"
                && given?[member.key] == nil
            {
                out.key(member.key)
                out.string(member.value.string ?? member.value.text)
            }
        }
        note.data = keys.text
        // The SDK reads `message`, so the generic names are removed.
        for family in ["fcm", "hms"] {
            note.overrides.append((family, #"{"data":{"title":null,"body":null}}"#))
        }
        return note
    }
}
