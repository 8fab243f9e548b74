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

    @Test func `a device's token is spelled by its form, its source's stays`() {
        func spelled(_ token: String, _ source: String = "") -> [String] {
            var out = Device(token: token, sourceToken: source)
            out.spell()
            return [out.token, out.sourceToken]
        }
        let long = String(repeating: "0A1B", count: 16)
        #expect(spelled("<0A>") == ["0a", "<0A>"])
        #expect(spelled(long) == [long.lowercased(), long])
        #expect(spelled(long, "mine") == [long.lowercased(), "mine"])
        #expect(spelled(long.lowercased()) == [long.lowercased(), ""])
        // A name, a token that is too long for one but has other letters, and one that begins like hexadecimal.
        for other in ["CAFE", long + "x:Y", "ABCDEF01" + String(repeating: "Z", count: 64)] {
            #expect(spelled(other) == [other, ""])
        }
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
