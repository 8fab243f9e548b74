import SignalboxPluginKit

/// Why a whole webhook is rejected.
enum Fault {
    case notification, devices, signature, stale

    var error: PluginError {
        switch self {
        case .signature:
            PluginError(.auth, "x-zendesk-webhook-signature is missing or wrong")
        case .stale:
            PluginError(
                .auth, "x-zendesk-webhook-signature-timestamp is over five minutes off")
        case .notification: PluginError(.invalid, "\"notification\" is missing or not an object")
        case .devices: PluginError(.invalid, "\"devices\" is missing or not a list")
        }
    }
}

/// Why one device of a webhook is rejected; the raw value is a metric label.
enum Reject: String {
    case noIdentifier = "no_identifier"
    case unknownDeviceType = "unknown_device_type"
    case emptyToken = "empty_token"
    case tokenTooLong = "token_too_long"
    case duplicate

    var detail: String {
        switch self {
        case .noIdentifier: "a device has no identifier"
        case .unknownDeviceType: "a device's type is neither ios nor android"
        case .emptyToken: "a device's identifier is empty after normalization"
        case .tokenTooLong: "a device's identifier is over 4096 bytes"
        case .duplicate: "a device is named twice"
        }
    }
}
