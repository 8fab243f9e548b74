import SignalboxConfig
import SignalboxCore
import Testing

/// `gateway.dead`.
@Suite struct DeadSettingsTests {
    private func load(_ dead: String) -> (DeadSettings, [String]) {
        let text = "version: 1\ngateway: { dead: \(dead) }" + ConfigTests.tail
        let (config, words) = ConfigTests().load(text)
        return (config.gateway.dead, words)
    }

    @Test func `letters are kept for 14 days, unless the file says otherwise`() {
        let (config, words) = ConfigTests().load("version: 1" + ConfigTests.tail)
        #expect(words == [])
        #expect(config.gateway.dead.limits == DeadLimits(keepMs: 1_209_600_000, countMax: 100_000))
        #expect(!config.gateway.dead.keepsUnregistered)
        #expect(load("2d").0.limits.keepMs == 172_800_000)
        let (dead, faults) = load("{ keep: 1h, letters: 7, unregistered: true }")
        #expect(faults == [])
        #expect(dead.limits == DeadLimits(keepMs: 3_600_000, countMax: 7))
        #expect(dead.keepsUnregistered)
    }

    @Test(arguments: [
        ("1s", "dead must be"), ("{ keep: 500d }", "keep must be"),
        ("{ letters: 0 }", "letters must be"),
        ("{ unregistered: 1 }", "unregistered must be true or false"),
        ("{ kep: 1d }", #"unknown key "kep" (did you mean "keep"?)"#),
    ])
    func `a fault is named with its place`(dead: String, words: String) {
        let faults = load(dead).1
        #expect(faults.count == 1 && faults[0].contains(words), "\(faults)")
        #expect(faults.allSatisfy { $0.contains("gateway.yaml:2:") }, "\(faults)")
    }
}
