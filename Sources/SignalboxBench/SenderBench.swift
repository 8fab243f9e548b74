import Signalbox
import SignalboxCore
import SignalboxThreads

/// From leased deliveries to settled answers, without a disk: lane, plugin, HTTP/2.
enum SenderBench {
    /// The result of a run.
    struct Report: Sendable {
        /// Deliveries that the provider accepted.
        let delivered: Int
        /// From the first lease to the last settlement, in seconds.
        let seconds: Double
    }

    /// Sends `count` deliveries of a configuration's sender `apns`.
    ///
    /// A token ends with the number of its delivery; `perContent` deliveries share a notification.
    static func run(
        _ options: GatewayOptions, count: Int, perContent: Int
    ) async throws -> Report {
        let contents = (0..<max(1, count / perContent)).map { _ in
            SharedNotification(CallBench.content.notification, receivedUnixMs: 0)
        }
        let deadline = SystemClock.unixMs + 86_400_000
        let store = MemoryStore(key: LaneKey(sender: "apns", app: ""), total: count) { number in
            Delivery(
                id: UInt64(number) + 1, eventID: UInt64(number / perContent), source: "z",
                route: "r", sender: "apns", stableID: "0e7f8e1c-6f1f-4e0e-9d55-0123456789ab",
                attempt: 1, deadlineUnixMs: deadline,
                content: contents[min(number / perContent, contents.count - 1)],
                device: Device(platform: "ios", token: token(number)))
        }
        var options = options
        options.store = store
        let start = SystemClock.monotonicNs
        let gateway = try await Gateway.start(options)
        let delivered = await store.end()
        let seconds = Double(SystemClock.monotonicNs - start) / 1e9
        await gateway.stop()
        return Report(delivered: delivered, seconds: seconds)
    }

    /// 64 hexadecimal digits; the last 16 are the number.
    static func token(_ number: Int) -> String {
        var mixer = UInt64(number) &+ 0x9e37_79b9_7f4a_7c15
        mixer = (mixer ^ (mixer >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixer = (mixer ^ (mixer >> 27)) &* 0x94d0_49bb_1331_11eb
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: 64) { out in
            for (part, value) in [UInt64(0), mixer, ~mixer, UInt64(number)].enumerated() {
                for place in 0..<16 {
                    out[part * 16 + place] = digits[Int(value >> UInt64(60 - place * 4) & 15)]
                }
            }
            return 64
        }
    }
}
