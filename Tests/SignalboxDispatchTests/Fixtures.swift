import SignalboxCore

func delivery(_ id: UInt64, attempt: UInt32 = 1, deadline: UInt64 = 0) -> Delivery {
    Delivery(
        id: id, eventID: 1, route: "r", sender: "s", stableID: "u", attempt: attempt,
        deadlineUnixMs: deadline,
        content: SharedNotification(PushNotification(), receivedUnixMs: 0),
        device: Device(token: "t"))
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

func rank(_ delivery: Delivery) -> Int {
    switch delivery.content.notification.priority ?? .normal {
    case .high: 0
    case .normal: 1
    case .low: 2
    }
}
