import SignalboxPluginKit

/// Turns deliveries into requests.
struct Encoder: DeliveryEncoder {
    /// Four weeks, the longest that push services keep a message.
    private static let secondsMax: UInt64 = 2_419_200

    let host: Host
    let vapid: VAPID
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()

    init(host: Host, vapid: VAPID) {
        self.host = host
        self.vapid = vapid
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) throws(PluginError) -> Outcome? {
        guard let subscription = Subscription(delivery.device()) else {
            return malformed("the token is no https URL, or p256dh or auth is no attribute of it")
        }
        let note = delivery.notification()
        guard !note.isDryRun else { return Outcome(.rejected, "no_dry_run") }
        let stable = delivery.stableID
        let id = String(decoding: stable.indices.map { stable[$0] }, as: UTF8.self)
        guard let plain = try Message.bytes(note, badge: delivery.badge, id: id, host) else {
            return Outcome(.rejected, "payload_too_large")
        }
        let body: [UInt8]
        do throws(PluginError) {
            body = try Encryption.body(plain, for: subscription, host)
        } catch {
            // Its point is not on the curve.
            guard error.status == .invalid else { throw error }
            return malformed("its p256dh is no point of the curve P-256")
        }
        draft.begin("POST", path: subscription.path)
        draft.setOrigin(subscription.origin)
        draft.header("authorization", try vapid.authorization(for: subscription.origin))
        draft.header("content-encoding", "aes128gcm")
        draft.header("content-type", "application/octet-stream")
        draft.header("ttl", String(secondsLeft(delivery.deadlineUnixMs)), isIndexed: false)
        draft.header("urgency", note.priority.map { "\($0)" } ?? "normal")
        if !note.collapse.isEmpty {
            draft.header("topic", try topic(note.collapse), isIndexed: false)
        }
        draft.appendBody(body.span)
        return nil
    }

    private func malformed(_ detail: String) -> Outcome {
        Outcome(.rejected, "malformed_subscription", detail: detail)
    }

    private func secondsLeft(_ deadlineUnixMs: UInt64) -> UInt64 {
        guard deadlineUnixMs > 0 else { return Self.secondsMax }
        let now = host.nowUnixMs
        guard deadlineUnixMs > now else { return 0 }
        return min(Self.secondsMax, (deadlineUnixMs - now + 999) / 1_000)
    }

    /// At most 32 characters of base64url: a waiting message with the same topic is replaced.
    private func topic(_ collapse: String) throws(PluginError) -> String {
        let isPlain = collapse.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        if isPlain, collapse.utf8.count <= 32 { return collapse }
        return Base64URL.encode(
            Array(try host.digest(.sha256, Array(collapse.utf8)).prefix(24)))
    }
}
