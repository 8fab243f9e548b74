import Testing

/// The Swift kit covers the whole contract.
@Suite struct KitReachTests {
    /// Members that only the side that made them reads.
    static let opaque: Set = ["struct_size", "reserved", "state", "document", "position"]

    @Test func `the Swift kit reads or writes every member of the contract`() throws {
        let kit = try Repository.files(under: "Sources/SignalboxPluginKit", endings: [".swift"])
            .map { try Repository.text($0) }.joined()
        let names = Set(kit.matches(of: #/\.`?(\w+)/#).map { String($0.output.1) })
        var count = 0
        for line in try Repository.text("Tests/ContractTests/Releases/1.1/layout.txt")
            .split(separator: "\n")
        {
            // field STRUCT OFFSET TYPE... NAME; gateway.h is for host programs, not for plugins.
            let words = line.split(separator: " ")
            guard words.first == "field", words.count > 4, let name = words.last else { continue }
            if Self.hostSide.contains(String(words[1])) || Self.opaque.contains(String(name)) {
                continue
            }
            count += 1
            #expect(names.contains(String(name)), "\(words[1]).\(name)")
        }
        #expect(count > 150, "\(count)")
    }

    /// Structs of gateway.h.
    static let hostSide: Set = [
        "sbx_delivery_result", "sbx_gateway_options", "sbx_submission", "sbx_answer",
        "sbx_submitted", "sbx_finding",
    ]
}
