internal import SignalboxCore

/// Names of instances, routes and policies.
enum Names {
    /// The name of a gateway, which may be that of a host with a port.
    static func isGatewayName(_ text: String) -> Bool {
        let rest = text.filter { $0 != "." && $0 != ":" }
        return text.utf8.count <= 64 && isName(rest)
    }

    /// The rule that an invalid name violates.
    static func rule(_ value: ConfigValue) -> String {
        value.isSecret
            ? "write the name itself, not a variable or file: it appears in logs and metrics"
            : "a name has letters, digits, - and _, at most 64"
    }

    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
