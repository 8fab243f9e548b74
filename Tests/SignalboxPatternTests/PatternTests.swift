import SignalboxPattern
import Testing

@Suite(.timeLimit(.minutes(1))) struct PatternTests {
    @Test(arguments: [
        ("^(a+)+$", String(repeating: "a", count: 4095) + "b"),
        (".*error.*code.*", String(repeating: "error ", count: 1000)),
        ("(x+x+)+y", String(repeating: "x", count: 8192)),
        ("(.*)*(.*)*(.*)*!", String(repeating: "ab", count: 4096)),
        ("((a{0,30}b?){0,30})c", String(repeating: "a", count: 4096)),
    ])
    func `a hostile text takes no longer than another`(pattern: String, subject: String) throws {
        let pattern = try Pattern(pattern)
        for _ in 0..<20 { #expect(!pattern.matches(subject)) }
    }

    @Test(arguments: [
        ("_vip$", "support_vip", true), ("^vip", "support_vip", false), ("b+", "abbc", true),
        ("^$", "", true), ("^.$", "é", true), ("(?i)straße", "STRASSE Straße", true),
        (#"^\p{L}{1,64}$"#, "Καλημέρα", true), ("a.c", "a\nc", false), ("(?s)a.c", "a\nc", true),
        ("^b", "a\nb", false), ("(?m)^b", "a\nb", true), ("a$", "a\n", false),
        (#"^\d+$"#, "١", false), ("a\u{0}b", "xa\u{0}by", true), ("", "anything", true),
    ])
    func `some part of the text must match`(pattern: String, subject: String, isMatch: Bool) throws
    {
        #expect(try Pattern(pattern).matches(subject) == isMatch)
    }

    @Test(arguments: [
        ("a(?=b)", "it has an operator that is unknown or unsupported", "(?="),
        ("(?<=a)b", "it has an operator that is unknown or unsupported", "(?<"),
        (#"(a)\1"#, "it has an escape that is unknown or unsupported", #"\1"#),
        ("(", "it has a missing )", "("), ("[a", "it has a missing ]", "[a"),
        ("a**", "it has a repetition of a repetition", "**"),
        ("x{1001}", "it has a repetition that is malformed or over 1000", "{1001}"),
        (#"\p{L}{1,500}"#, "it has repetitions that make it too large", ""),
        (String(repeating: "é", count: 257), "it has over 512 bytes", ""),
    ])
    func `what cannot be used is refused with its reason and the part at fault`(
        pattern: String, reason: String, part: String
    ) {
        let fault = #expect(throws: Pattern.Fault.self) { try Pattern(pattern) }
        #expect(fault?.reason == reason)
        #expect(fault?.part == part)
    }

    @Test func `a long text is cut between two characters`() throws {
        let text = String(repeating: "a", count: 4095) + "é" + "b"
        #expect(try !Pattern("b").matches(text))
        #expect(try !Pattern("é").matches(text))
        #expect(try Pattern("^a{1000}a{1000}a{1000}a{1000}a{95}$").matches(text))
        #expect(try Pattern("b").matches(String(repeating: "a", count: 4095) + "b"))
    }

    @Test func `one expression is matched by many threads at once`() async throws {
        let pattern = try Pattern("(a|b)*a(a|b){12}c")
        let texts = (0..<64).map { number in
            String((0..<4000).map { $0 * (number + 3) % 7 < 3 ? "a" : "b" }.joined())
        }
        let count = await withTaskGroup(of: Bool.self) { group in
            for text in texts { group.addTask { pattern.matches(text) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 0)
    }
}
