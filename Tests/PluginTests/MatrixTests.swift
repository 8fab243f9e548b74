import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct MatrixTests {
    static func rig(_ services: RigServices = RigServices()) async throws -> RoleRig {
        try await RoleRig(
            "Matrix",
            config: #"""
                {"apps":[{"app_id":"org.matrix.example.ios","platform":"ios"},
                {"app_id":"*.huawei","platform":"huawei"}]}
                """#, services: services)
    }

    static func post(_ rig: RoleRig, _ body: String) async -> IngestResult {
        await rig.handle(body, path: "/_matrix/push/v1/notify")
    }

    static func text(_ result: IngestResult) throws -> String {
        String(decoding: try #require(result.answer).body, as: UTF8.self)
    }

    /// A request about an event.
    static func request(_ devices: String) -> String {
        #"{"notification":{"event_id":"$1","devices":[\#(devices)]}}"#
    }

    static func dead(_ key: String, unixMs: UInt64) -> DeviceChange {
        var device = Device(platform: "ios", token: "0a1b2c")
        device.sourceToken = key
        return DeviceChange(kind: .invalid, device: device, timeUnixMs: unixMs)
    }

    @Test func `too many devices are refused, and 1000 are not`() async throws {
        let rig = try await Self.rig()
        func body(_ count: Int) -> String {
            Self.request(
                (0..<count).map { #"{"app_id":"x.huawei","pushkey":"k\#($0)"}"# }.joined(
                    separator: ","))
        }
        let result = await Self.post(rig, body(1_001))
        #expect(result.answer?.status == 413 && result.fault?.kind == .tooLarge)
        #expect(try Self.text(result).contains("M_TOO_LARGE"))
        #expect(await Self.post(rig, body(1_000)).events.count == 1_000)
        #expect(await rig.end() == [])
    }

    @Test func `dead pushkeys have so much room, whoever names them`() async throws {
        let services = RigServices()
        let rig = try await Self.rig(services)
        for part in 0..<400 {
            let dead = (0..<100).map { Self.dead("key-\(part)-\($0)", unixMs: 100_000) }
            #expect(try rig.prepare(dead).settled.count == 100)
        }
        #expect(services.valueCount <= 16_384)
        // What was named last has its place.
        let device = #"{"app_id":"x.huawei","pushkey":"key-399-99","pushkey_ts":100}"#
        let result = await Self.post(rig, Self.request(device))
        #expect(try Self.text(result) == #"{"rejected":["key-399-99"]}"#)
        #expect(await rig.end() == [])
    }

    @Test func `other changes of devices are ignored`() async throws {
        let rig = try await Self.rig()
        var change = Self.dead("Chss", unixMs: 100_000)
        change.kind = .registered
        #expect(try rig.prepare([change]).settled.map(\.reason) == ["ignored"])
        let result = await Self.post(
            rig,
            Self.request(#"{"app_id":"org.matrix.example.ios","pushkey":"Chss","pushkey_ts":100}"#))
        #expect(try Self.text(result) == #"{"rejected":[]}"#)
        #expect(rig.register?.wants(.invalid) == true)
        #expect(rig.register?.wants(.registered) == false)
        #expect(await rig.end() == [])
    }
}
