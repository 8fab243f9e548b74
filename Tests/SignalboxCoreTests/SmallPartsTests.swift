import SignalboxCore
import Testing

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

@Suite struct SmallPartsTests {
    @Test func `stable ids are lower-case UUIDs and never repeat`() throws {
        var ids = StableIDs(seed: (3, 4))
        let made = (0..<10_000).map { _ in ids.next() }
        #expect(Set(made).count == 10_000)
        let shape = try Regex(
            "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        #expect(made.allSatisfy { $0.wholeMatch(of: shape) != nil })
    }

    @Test func `runs of ids are the sequence itself, whoever uses them first`() {
        let start = DeliveryIDs(last: 7, stableIDs: StableIDs(seed: (3, 4)))
        var whole = start
        let all = (0..<6).map { _ in whole.next() }
        var shared = start
        var (two, four) = (shared.take(2), shared.take(4))
        let late = (0..<4).map { _ in four.next() }
        let early = (0..<2).map { _ in two.next() }
        #expect((early + late).map(\.id) == all.map(\.id) && all[0].id == 8)
        #expect((early + late).map(\.stableID) == all.map(\.stableID))
        #expect(shared.next() == whole.next())
    }

    @Test func `JSON is merged member by member`() {
        let base: JSONValue = ["a": 1, "b": ["x": "1"]]
        let patch: JSONValue = ["a": .null, "b": ["y": true], "c": [.null]]
        #expect(base.merging(patch).text == #"{"b":{"x":"1","y":true},"c":[null]}"#)
        #expect(JSONValue.string("a\"\\\n\u{1}é").text == #""a\"\\\n\u0001é""#)
    }

    @Test func `a name of a stranger costs no more than its first bytes`() {
        let long = String(repeating: "x", count: 1_000_000)
        #expect(Suggestion.nearest(to: long, among: [long + "y", "token"]) == nil)
        #expect(Suggestion.shown(long).utf8.count == 64)
        // One letter with half a million marks is still half a million bytes.
        let marks = "e" + String(repeating: "\u{301}", count: 500_000)
        #expect(Suggestion.shown(marks).utf8.count <= 66)
        #expect(Suggestion.shown("token") == "token")
    }

    @Test(arguments: [
        ("apn", "apns"), ("titel", "title"), ("zendsk", "zendesk"), ("routs", "routes"),
        ("qqq", nil), ("", nil),
    ])
    func `misspelt names are recognised`(name: String, wanted: String?) {
        let known = ["apns", "fcm", "zendesk", "title", "routes"]
        #expect(Suggestion.nearest(to: name, among: known) == wanted)
    }
}

/// What people see of a token.
@Suite struct RedactedTests {
    @Test(arguments: [
        ("", "…"), ("12345678", "…"), ("123456789", "…6789"), ("0000123456789", "…6789"),
        ("ä2345678", "…"), ("12345678ä", "…678ä"), ("xxäöüxxxx", "…xxxx"), ("äöüß", "…"),
    ])
    func `at most the last four characters of a token are shown, if it has more than eight`(
        token: String, shown: String
    ) { #expect(DeadLetter.redacted(token) == shown) }
}
