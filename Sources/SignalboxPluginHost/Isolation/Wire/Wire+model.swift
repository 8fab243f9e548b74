internal import SignalboxCore

extension Attribute: WireValue {
    func write(to writer: WireWriter) {
        writer.put(key)
        writer.put(value)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(try reader.text(), try reader.text())
    }
}

extension Device: WireValue {
    func write(to writer: WireWriter) {
        for text in [app, platform, provider, token, sourceToken, user, locale] {
            writer.put(text)
        }
        writer.put(registeredUnixMs)
        writer.put(attributes)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            app: try reader.text(), platform: try reader.text(), provider: try reader.text(),
            token: try reader.text(), sourceToken: try reader.text(), user: try reader.text(),
            locale: try reader.text(), registeredUnixMs: try reader.number(),
            attributes: try reader.list())
    }
}

extension Recipient: WireValue {
    func write(to writer: WireWriter) {
        writer.put(device)
        writer.put(attributes)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(device: try reader.value(), attributes: try reader.list())
    }
}

/// What a plugin gives of an event, or gets: the gateway's own id of it stays where it is.
extension Event: WireValue {
    func write(to writer: WireWriter) {
        for text in [source, type, subject, dedupe, data] { writer.put(text) }
        writer.put(timeUnixMs)
        writer.put(recipients)
        writer.put(dedupeWindowMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            source: try reader.text(), type: try reader.text(), subject: try reader.text(),
            dedupe: try reader.text(), data: try reader.text(), timeUnixMs: try reader.number(),
            recipients: try reader.list())
        dedupeWindowMs = try reader.number()
    }
}

extension DeviceChange: WireValue {
    func write(to writer: WireWriter) {
        writer.put(kind.rawValue)
        writer.put(timeUnixMs)
        writer.put(reason)
        writer.put(subject)
        writer.put(device)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let kind = Kind(rawValue: try reader.number()) else {
            throw WireFault("there is no such kind of change")
        }
        let time = try reader.number(UInt64.self)
        let (reason, subject) = (try reader.text(), try reader.text())
        self.init(
            kind: kind, device: try reader.value(), timeUnixMs: time, reason: reason,
            subject: subject)
    }
}

extension PayloadOverride: WireValue {
    func write(to writer: WireWriter) {
        writer.put(family)
        writer.put(json)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(family: try reader.text(), json: try reader.text())
    }
}

extension SignalboxCore.Notification: WireValue {
    func write(to writer: WireWriter) {
        for flag in [isSilent, isDataOnly, isMutable, isDryRun, isWithdrawn] { writer.put(flag) }
        writer.put(badge) { writer.put($0) }
        writer.put(priority?.rawValue ?? 0)
        writer.put(expiresUnixMs)
        for text in [
            title, subtitle, body, sound, thread, category, collapse, imageURL, link, pushType,
            data,
        ] {
            writer.put(text)
        }
        writer.put(overrides)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init()
        isSilent = try reader.flag()
        isDataOnly = try reader.flag()
        isMutable = try reader.flag()
        isDryRun = try reader.flag()
        isWithdrawn = try reader.flag()
        badge = try reader.optional { reader throws(WireFault) in try reader.number() }
        priority = Priority(rawValue: try reader.number())
        expiresUnixMs = try reader.number()
        title = try reader.text()
        subtitle = try reader.text()
        body = try reader.text()
        sound = try reader.text()
        thread = try reader.text()
        category = try reader.text()
        collapse = try reader.text()
        imageURL = try reader.text()
        link = try reader.text()
        pushType = try reader.text()
        data = try reader.text()
        overrides = try reader.list()
    }
}
