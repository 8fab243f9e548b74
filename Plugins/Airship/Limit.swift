import SignalboxPluginKit

/// Size limit of pushes: what Apple and Google take, less what Airship adds to each push.
enum Limit {
    /// Airship does not document how many bytes it adds.
    private static let addedByAirship = 512

    /// The push, with shortened texts if necessary.
    static func fitted(
        _ push: [UInt8], of note: PushNotification, platform: String, _ host: Host
    ) throws(PluginError) -> [UInt8] {
        var limit = PayloadLimit(bytesMax: 4096 - addedByAirship)
        if push.count <= limit.bytesMax { return push }
        limit.counted = ["/notification"]
        let part = ["huawei": "android", "": "ios"][platform] ?? platform
        limit.data = "/notification/\(part)/extra"
        limit.places = [(.body, "/notification/alert")]
        for platform in ["ios", "android", "amazon", "web"] {
            limit.places.append((.title, "/notification/\(platform)/title"))
            limit.places.append((.subtitle, "/notification/\(platform)/subtitle"))
            limit.places.append((.subtitle, "/notification/\(platform)/summary"))
        }
        limit.addAlert("/notification/ios/alert", of: push, host)
        return try host.fitted(push, of: note, to: limit)
    }
}
