extension PushNotification {
    /// The data as texts, for providers that carry no other values, and what the app needs besides.
    ///
    /// A withdrawal has the `key` of what it takes back, and no link. With `hasTexts` the app shows the notification itself.
    public func textData(
        withdrawing key: String, hasTexts: Bool, _ localized: LocalizedTexts, _ host: Host,
        isReserved: (String) -> Bool = { _ in false }
    ) throws(Outcome) -> [(String, String)] {
        var pairs: [(String, String)] = []
        if isWithdrawn { pairs.append(("signalbox_withdraw", key)) }
        if !data.isEmpty {
            guard let json = try? host.parse(data.utf8.span), json.kind == .object else {
                throw .malformedData
            }
            let members = json.members
            // A link, a picture, and a title and a body with a name and arguments each may follow.
            pairs.reserveCapacity(members.count + 6)
            for (key, value) in members where value.kind != .null {
                guard !isReserved(key) else { throw .reservedKey }
                pairs.append((key, value.string ?? value.text))
            }
        }
        if isWithdrawn { return pairs }
        func add(_ key: String, _ value: String) {
            guard !value.isEmpty, !pairs.contains(where: { $0.0 == key }) else { return }
            pairs.append((key, value))
        }
        // A text as data: the text itself, or its key in the app and a JSON array of its arguments.
        func add(_ field: String, _ text: String, _ localized: LocalizedText?) {
            guard let localized else { return add(field, text) }
            add("\(field)_loc_key", localized.key)
            guard !localized.arguments.isEmpty else { return }
            var list = JSONWriter()
            list.array { out in for text in localized.arguments { out.string(text) } }
            add("\(field)_loc_args", list.text)
        }
        if hasTexts {
            add("title", title, localized.title)
            add("body", body, localized.body)
            add("image", imageURL)
        }
        add("link", link)
        return pairs
    }
}
