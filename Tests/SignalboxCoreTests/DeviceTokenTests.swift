import SignalboxCore
import Testing

@Suite struct DeviceTokenTests {
    @Test(arguments: [
        ("0a1b", "0a1b"), ("0A1B", "0a1b"), ("<0A1B 2c3d>", "0a1b2c3d"), ("t1", "t1"),
        ("< t1 >", "< t1 >"), ("<>", "<>"), ("", ""), ("0a-1B", "0a-1B"), ("ＡＢ", "ＡＢ"),
    ])
    func `a hexadecimal token has one spelling, anything else stays`(
        given: String, spelled: String
    ) {
        #expect(DeviceToken.hexadecimal(given) == spelled)
        #expect(DeviceToken.isSame(spelled, named: given))
    }

    @Test func `a device's token is spelled as its provider's are, its source's stays`() {
        func spelled(_ device: Device) -> [String] {
            var out = device
            out.spell()
            return [out.token, out.sourceToken]
        }
        #expect(spelled(Device(platform: "ios", token: "<0A>")) == ["0a", "<0A>"])
        #expect(
            spelled(Device(platform: "ios", token: "0A", sourceToken: "mine")) == ["0a", "mine"])
        #expect(spelled(Device(provider: "apns", token: "0A")) == ["0a", "0A"])
        #expect(spelled(Device(platform: "ios", provider: "fcm", token: "0A")) == ["0A", ""])
        #expect(spelled(Device(platform: "android", token: "0A")) == ["0A", ""])
        #expect(spelled(Device(platform: "ios", token: "0a")) == ["0a", ""])
        #expect(spelled(Device(platform: "iOS", token: "0A")) == ["0a", "0A"])
    }

    @Test func `a platform has lower case, as routes name it`() {
        for (given, platform) in [("iOS", "ios"), ("ANDROID", "android"), ("web", "web")] {
            var device = Device(platform: given, token: "t")
            #expect(device.isMisspelled == (given != platform))
            device.spell()
            #expect(device.platform == platform && !device.isMisspelled)
        }
    }

    @Test func `texts that are no tokens are told from those that are`() {
        for good in ["0a", "fcm:A-b_c", "kim@example.com", String(repeating: "a", count: 4_096)] {
            #expect(DeviceToken.fault(good) == nil)
        }
        for bad in ["", "a b", "a\tb", "a\u{7F}", String(repeating: "a", count: 4_097)] {
            #expect(DeviceToken.fault(bad) != nil)
        }
    }
}
