extension Recipient {
    /// Why a recipient cannot be used, whatever the route; the raw value is a metric label.
    public enum Fault: String, Error {
        /// A name would steer the terminals and exports that show it.
        case controlCharacter = "control_character"
        /// A user, app, platform or provider has a name of more than 256 bytes.
        case nameTooLong = "name_too_long"
        /// No provider has tokens this long.
        case tokenTooLong = "token_too_long"

        /// What is wrong, for the source.
        public var words: String {
            switch self {
            case .controlCharacter:
                "a user, app, platform or provider has a control character"
            case .nameTooLong:
                "a user, app, platform or provider has over \(DeviceRules.nameBytesMax) bytes"
            case .tokenTooLong: "a token has over \(DeviceRules.tokenBytesMax) bytes"
            }
        }
    }
}

extension Device {
    /// What makes it unusable as a recipient, with or without a token; nil if it is usable.
    public var fault: Recipient.Fault? {
        // Without an array: this is asked for each recipient.
        let longest = max(
            max(app.utf8.count, platform.utf8.count), max(provider.utf8.count, user.utf8.count))
        if longest > DeviceRules.nameBytesMax { return .nameTooLong }
        if token.utf8.count > DeviceRules.tokenBytesMax { return .tokenTooLong }
        let isPlain =
            DeviceRules.isPlain(app) && DeviceRules.isPlain(platform)
            && DeviceRules.isPlain(provider) && DeviceRules.isPlain(user)
        return isPlain ? nil : .controlCharacter
    }
}

extension Event {
    /// Writes tokens in their one spelling, and empties recipients that cannot be used: nothing looks them up, stores
    /// or shows them, and each route leaves them out.
    public mutating func mendRecipients() {
        var mended = recipients
        for index in mended.indices {
            if let fault = mended[index].device.fault {
                mended[index] = Recipient(device: Device())
                mended[index].fault = fault
            } else if mended[index].device.isMisspelled {
                mended[index].device.spell()
            }
        }
        recipients = mended
    }

    /// Whether `mendRecipients` would change something; for most it would not.
    public var needsMending: Bool {
        // By index: a loop over recipients would copy each.
        let recipients = recipients
        return recipients.indices.contains {
            recipients[$0].device.isMisspelled || recipients[$0].device.fault != nil
        }
    }

    /// Why its recipients are all unusable; nil if some are usable, or it has no recipients.
    public var recipientFault: Recipient.Fault? {
        recipients.allSatisfy { $0.fault != nil } ? recipients.first?.fault : nil
    }
}
