/// Bodies from attackers and broken senders.
///
/// No plugin may crash on them, mistake them for something else, or emit events with garbage from
/// them.
public enum HostileBodies {
    /// The bodies, each with the name of its fault.
    public static let all: [(name: String, bytes: [UInt8])] = [
        ("empty", []),
        ("only spaces", Array("   \n\t".utf8)),
        ("a number", Array("7".utf8)),
        ("null", Array("null".utf8)),
        ("a list", Array("[]".utf8)),
        ("cut in the middle", Array(#"{"category":"group_channel:mess"#.utf8)),
        ("trailing garbage", Array(#"{} x"#.utf8)),
        (
            "deep lists", Array((String(repeating: "[", count: 100_000)).utf8)
        ),
        (
            "deep objects",
            Array(
                (String(repeating: #"{"a":"#, count: 2_000) + "1"
                    + String(repeating: "}", count: 2_000)).utf8)
        ),
        ("a lone surrogate", Array(#"{"a":"\ud800"}"#.utf8)),
        ("a lone low surrogate", Array(#"{"a":"\udc00 x"}"#.utf8)),
        ("not UTF-8", [0x7B, 0x22, 0x61, 0x22, 0x3A, 0x22, 0xFF, 0xFE, 0x22, 0x7D]),
        ("overlong UTF-8", [0x7B, 0x22, 0xC0, 0xAF, 0x22, 0x3A, 0x31, 0x7D]),
        ("UTF-16 with a mark", [0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00]),
        ("a byte order mark", [0xEF, 0xBB, 0xBF] + Array("{}".utf8)),
        ("NUL bytes", [0x7B, 0x00, 0x22, 0x61, 0x22, 0x3A, 0x31, 0x00, 0x7D]),
        ("a NUL in a string", Array("{\"a\":\"x\u{0}y\"}".utf8)),
        ("an escaped NUL", Array(#"{"a\u0000b":"\u0000"}"#.utf8)),
        ("a huge number", Array(#"{"a":1e999999}"#.utf8)),
        ("a long number", Array((#"{"a":"# + String(repeating: "9", count: 5_000) + "}").utf8)),
        ("NaN", Array(#"{"a":NaN}"#.utf8)),
        ("single quotes", Array("{'a':1}".utf8)),
        (
            "a megabyte string",
            Array((#"{"a":""# + String(repeating: "x", count: 1_000_000) + "\"}").utf8)
        ),
        (
            "many members",
            Array(("{" + (0..<20_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}").utf8)
        ),
        ("duplicate keys", Array(#"{"a":1,"a":2,"a":{"a":3}}"#.utf8)),
        ("control characters", Array("{\"a\":\"\u{1}\u{8}\u{1f}\"}".utf8)),
        ("XML", Array(#"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>"#.utf8)),
    ]

    /// `body` with the value of a key of its outermost object replaced by each of these.
    public static let values = [
        "null", "true", "-1", "1.5", "99999999999999999999999", "1e400", "\"\"", "\"\\u0000\"",
        "\"\u{202e}evil\"", "[]", "[[]]", "{}", "{\"$ref\":\"#\"}", "[null,{},\"x\"]",
        "\"" + String(repeating: "A", count: 70_000) + "\"",
    ]
}
